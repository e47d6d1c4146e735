"""What the pages for people name exists: files, links, flags, options, counters, functions; and what they quote is what is there."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
FOLDER_NAMES = ["stats", "pool", "arena", "memtable", "capi", "tools", "tests", "examples", "packaging", "docs", "cmake", ".ci"]
FOLDERS = "|".join(map(re.escape, FOLDER_NAMES))
# In backticks or in a command line of a code block: tools/setup, docs/statistics.md, stats/
PATH = re.compile(rf"(?:^|[`\s])((?:{FOLDERS})/[\w./-]*)", re.M)
# In a table: `tests/pool/slab_test.cc` SlabTest.RunsOfBitsAreFoundAcrossWords SlabTest.…
TESTS = re.compile(r"`(tests/[\w/]+_test\.cc)`((?: [A-Z]\w*Test\.\w+)+)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(([^):]*)#([^)]+)\)")
FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]+)")
SPAN = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
# One identifier, perhaps of a class or with parentheses, or an environment variable with its value.
NAME = re.compile(r"(?:\w+::)*(\w+)(?:\(\)|=\w*)?")

# Flags and names of other people's programs. One that no page uses any more has to leave the list.
FOREIGN_FLAGS = {
    "preset", "build", "target", "install", "prefix", "cflags", "libs",  # cmake, pkg-config
    "benchmarks", "memtablerep", "num", "write_buffer_size",  # db_bench
    "benchmark_filter",  # google-benchmark
}
FOREIGN_NAMES = {
    "pdqsort_branchless", "std", "madvise", "munmap", "membarrier",
}


def sources():
    """The text of everything in the tree but its pages."""
    for name in FOLDER_NAMES:
        for path in sorted((ROOT / name).rglob("*")):
            if path.is_file() and path.suffix not in {".md", ".svg"} and "__pycache__" not in path.parts and path != pathlib.Path(__file__).resolve():
                yield path.read_text(encoding="utf-8", errors="replace")
    yield (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    yield (ROOT / "CMakePresets.json").read_text(encoding="utf-8")


SOURCES = "\n".join(sources())
WORDS = set(re.findall(r"\w+", SOURCES))
DEFINED_FLAGS = set(re.findall(r"^DEFINE_\w+\(\s*(\w+)", SOURCES, re.M)) | set(re.findall(r"--([a-z][\w-]+)", SOURCES))


def texts():
    for page in PAGES:
        yield page, page.read_text(encoding="utf-8")


class DocsTest(unittest.TestCase):
    def test_named_paths_exist(self):
        found = 0
        for page, text in texts():
            for path in PATH.findall(text):
                found += 1
                with self.subTest(page=page.name, path=path):
                    self.assertTrue((ROOT / path.rstrip(".")).exists())
        self.assertGreater(found, 0)

    def test_named_tests_exist(self):
        found = 0
        for page in PAGES:
            for path, names in TESTS.findall(page.read_text(encoding="utf-8")):
                source = (ROOT / path).read_text(encoding="utf-8")
                for name in names.split():
                    found += 1
                    with self.subTest(page=page.name, path=path, test=name):
                        self.assertTrue(re.search(r"TEST\w*\({}, {}\)".format(*name.split(".")), source))
        self.assertGreater(found, 0)

    def test_links_lead_somewhere(self):
        found = 0
        for page, text in texts():
            for target in LINK.findall(BLOCK.sub("", text)):
                found += 1
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())
        self.assertGreater(found, 0)

    def test_anchors_are_headings(self):
        for page, text in texts():
            for target, anchor in ANCHOR.findall(text):
                there = (page.parent / target).read_text(encoding="utf-8") if target else text
                headings = [re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", there, re.M)]
                with self.subTest(page=page.name):
                    self.assertIn(anchor, headings)

    def test_named_flags_exist(self):
        used = set()
        for page, text in texts():
            for flag in FLAG.findall("\n".join(SPAN.findall(text) + [block for _, block in BLOCK.findall(text)])):
                used.add(flag)
                with self.subTest(page=page.name, flag=flag):
                    self.assertTrue(flag in DEFINED_FLAGS or flag in FOREIGN_FLAGS)
        self.assertGreater(len(used), 10)
        self.assertEqual(FOREIGN_FLAGS - used, set(), "named by no page")

    def test_named_options_counters_and_functions_exist(self):
        used = set()
        for page, text in texts():
            for span in SPAN.findall(BLOCK.sub("", text)):
                match = NAME.fullmatch(span)
                # Plain words are no names; those with an underscore, a capital or a qualifier within are.
                if match is None or not re.search(r"_|[a-z][A-Z]|::|^[A-Z][a-z]+$", span):
                    continue
                used.add(match[1])
                with self.subTest(page=page.name, name=span):
                    self.assertTrue(match[1] in WORDS or match[1] in FOREIGN_NAMES)
        self.assertGreater(len(used), 50)
        self.assertEqual(FOREIGN_NAMES - used - WORDS, set(), "named by no page")

    def test_numbers_of_the_tuning_guide_exist(self):
        metrics = set(re.findall(r"^STRONGBIN_\w+\((\w+), (?:Counter|Gauge|Max),", (ROOT / "stats" / "metrics.def").read_text(encoding="utf-8"), re.M))
        other = {"auto", "none", "always", "madvise"}  # values of settings
        page = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
        named = {span for span in SPAN.findall(BLOCK.sub("", page)) if re.fullmatch(r"[a-z]+", span)}
        self.assertGreater(len(named & metrics), 4)
        self.assertEqual(named - metrics - other, set())

    def test_options_of_the_rocksdb_memtable_are_all_documented_and_no_others(self):
        page = (ROOT / "docs" / "rocksdb.md").read_text(encoding="utf-8")
        table = page[page.index("| option | values |"):].split("\n\n")[0]
        documented = re.findall(r"^\| `(\w+)` \|", table, re.M)
        source = (ROOT / "memtable" / "rocksdb" / "rep_option_types.cc").read_text(encoding="utf-8")
        self.assertEqual(sorted(documented), sorted(re.findall(r'\{"(\w+)", [^}]*offsetof', source)))

    def test_marked_blocks_are_built_or_are_quotations(self):
        built = set(re.findall(r"strongbin_markdown_example\(NAME (\w+)", SOURCES))
        marked = set()
        for page, text in texts():
            for kind, name, body in re.findall(r"<!-- (tested:|from) (\S+) -->\n+```\w+\n(.*?)^```", text, re.M | re.S):
                with self.subTest(page=page.name, name=name):
                    if kind == "from":
                        self.assertIn(body, (ROOT / name).read_text(encoding="utf-8"))
                    else:
                        marked.add(name)
        self.assertEqual(marked, built)
        self.assertEqual(sum(len(re.findall(r"<!-- (?:tested:|from) \S+ -->", text)) for _, text in texts()),
                         sum(len(re.findall(r"<!-- (?:tested:|from) \S+ -->\n+```", text)) for _, text in texts()),
                         "a mark without a block")


if __name__ == "__main__":
    unittest.main()
