"""Runs the commands of dbbench that make pages and digests of results.

usage: commands_test.py DBBENCH
"""

import html.parser
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DBBENCH = sys.argv.pop(1)
VOID = {"meta", "br", "img", "path", "use", "rect", "circle"}


def run(*arguments, **options):
    return subprocess.run([DBBENCH, *arguments], capture_output=True, text=True, check=False, timeout=500, **options)


class Balance(html.parser.HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.elements = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            raise AssertionError(f"</{tag}> closes {self.open[-3:]}")
        self.open.pop()


class CommandsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def test_wrong_use_is_refused(self):
        for arguments in [["report"], ["report", "/no/such/file"], ["profile", "/no/such/folder"]]:
            self.assertEqual(run(*arguments).returncode, 1, arguments)
        for arguments in [["selfcheck", "nonsense"], ["suite"], ["suite", "slow"], ["profile"], ["cursor", "x"]]:
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_a_small_suite_makes_a_page_of_everything_and_goes_on(self):
        small = ["--keys=2000", "--reads=500", "--latency_ops=200", "--timeline_ms=1", f"--db={self.path}", f"--suite_dir={self.path / 'suite'}"]
        result = run("suite", "quick", *small)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        # A gate's results go on the same page.
        gate = self.path / "gate.jsonl"
        self.assertEqual(run("gate", "--baseline=memtable pool=off", "--candidate=memtable", "--keys=2000", "--pairs=6", f"--results={gate}",
                             "--quiet_processors=1000", "--max_repeats=0", "--wait_quiet_seconds=0", "--drop_caches=false").returncode, 0)
        page = self.path / "page.html"
        files = sorted(str(file) for file in (self.path / "suite").glob("*.json"))
        result = run("report", *files, str(gate), f"--html={page}", f"--markdown={self.path / 'page.md'}", f"--figures={self.path / 'figures'}")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = page.read_text()
        balance = Balance()
        balance.feed(text)
        self.assertEqual(balance.open, [])
        self.assertNotIn("http://", text.replace("http://www.w3.org/", ""))
        ids = [attributes["id"] for tag, attributes in balance.elements if tag == "section"]
        self.assertEqual(len(ids), len(set(ids)))
        markdown = (self.path / "page.md").read_text()
        for title in ["Gate", "Throughput", "Latency", "Throughput over time", "Memory over time", "Cold and warm rounds", "The arena's cursor", "Environment", "Commands"]:
            self.assertIn(f"<h2>{title}", text)
            self.assertIn(f"## {title}", markdown)
        for line in markdown.splitlines():
            if line.startswith("!["):
                self.assertTrue((self.path / line[line.index("(") + 1:-1]).exists(), line)
        # What is there is not run again.
        before = {file: pathlib.Path(file).stat().st_mtime_ns for file in files}
        pathlib.Path(files[0]).unlink()
        again = run("suite", "quick", *small)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stderr.count("dbbench suite:"), 1)
        self.assertEqual([file for file in files if pathlib.Path(file).stat().st_mtime_ns == before[file]], files[1:])

    def test_the_cursor_looks_into_one_buffer_wherever_it_stands(self):
        rows = json.loads(run("cursor", "--format=json").stdout)["rows"]
        notes = {(row["engine"], row["test"]): row["note"] for row in rows}
        self.assertEqual(len(notes), 8)
        for behind in (10, 100, 1000):
            self.assertTrue(notes[("arena", f"cursor_behind_{behind}")].startswith("0 buffers looked into"), notes)

    @unittest.skipUnless(shutil.which("google-pprof"), "google-pprof is not installed")
    def test_profiles_are_shown_beside_the_counts(self):
        profiles = self.path / "profiles"
        result = run("--dbs=memtable", "--tests=dataset_write_random", "--keys=200000", "--latency_ops=0", "--chunk_source=malloc",
                     "--pool_cap_bytes=0", f"--profile_dir={profiles}", "--format=json")
        if "libtcmalloc" in result.stderr or "ASan runtime" in result.stderr:
            self.skipTest(result.stderr)  # not installed, or a sanitizer brings an allocator of its own
        self.assertEqual(result.returncode, 0, result.stderr)
        digest = run("profile", str(profiles))
        self.assertEqual(digest.returncode, 0, digest.stderr)
        self.assertIn("## memtable, dataset_write_random", digest.stdout)
        self.assertIn("ChunkPool::Fresh", digest.stdout)
        self.assertRegex(digest.stdout, r"Counted: [1-9]\d* fresh chunks for keys\. .* they agree\.")


if __name__ == "__main__":
    unittest.main()
