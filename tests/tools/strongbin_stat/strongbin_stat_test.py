"""Runs strongbin-stat on live processes: what it prints, what it says when there is nothing to show, --watch in a terminal.

usage: strongbin_stat_test.py STRONGBIN_STAT DBBENCH
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
from terminal_screen import Terminal  # noqa: E402

STAT, DBBENCH = sys.argv.pop(1), sys.argv.pop(1)


class StatTest(unittest.TestCase):
    def setUp(self):
        # Shared memory of this test alone.
        self.directory = tempfile.mkdtemp(prefix="strongbin-test-", dir="/dev/shm")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.directory, LC_ALL="C.UTF-8")
        self.processes = []

    def tearDown(self):
        # Terminals first: what they show is of the others.
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.directory)

    def stat(self, *arguments, status=0):
        done = subprocess.run([STAT, *arguments], capture_output=True, text=True, check=False, timeout=300, env=self.env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def pages(self):
        return sorted(name for name in os.listdir(self.directory) if name.startswith("strongbin-stats."))

    def page_of(self, process):
        return next((name for name in self.pages() if name.split(".")[2] == str(process.pid)), None)

    def start(self):
        """A process that puts entries into tables, for as long as it is let."""
        process = subprocess.Popen(
            [DBBENCH, "--dbs=memtable", "--tests=dataset_write_random", "--keys=2000000", "--rate=5000", "--batchsize=100",
             "--latency_ops=0", "--progress=false"],
            env=dict(self.env, STRONGBIN_STATS_PAGE="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        deadline = time.monotonic() + 120
        while self.page_of(process) is None or not self.entries(process):
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        return process

    def entries(self, process):
        """0 while the process has only begun."""
        done = subprocess.run([STAT, str(process.pid), "--json"], capture_output=True, text=True, check=False, env=self.env)
        return json.loads(done.stdout)["tables"]["metrics"]["appended_entries"] if done.returncode == 0 else 0

    def watch(self, *arguments, columns=100, rows=30):
        terminal = Terminal([STAT, "--watch", "--interval=0.05", *arguments], columns, rows, env=self.env)
        self.processes.append(terminal.process)
        return terminal

    # ---- one look ----

    def test_every_format_shows_the_process(self):
        process = self.start()
        pid = str(process.pid)
        text = self.stat(pid)
        self.assertRegex(text, rf"^dbbench, process {pid}\n")
        self.assertIn('strongbin pool pool="', text)
        self.assertRegex(text, r"appended_entries +[\d,]+")
        page = json.loads(self.stat(pid, "--json"))
        self.assertEqual((page["pid"], page["program"]), (process.pid, "dbbench"))
        gets = page["pools"][0]["metrics"]["gets"]["sum"]
        self.assertGreater(gets, 0)
        prometheus = self.stat(pid, "--prometheus")
        self.assertRegex(prometheus, rf'strongbin_table_entries\{{pid="{pid}",program="dbbench"\}} \d+\n')
        if promtool := shutil.which("promtool"):
            done = subprocess.run([promtool, "check", "metrics"], input=prometheus, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_counters_move_while_the_process_works(self):
        process = self.start()
        first = self.entries(process)
        deadline = time.monotonic() + 120
        while self.entries(process) <= first:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_csv_has_a_line_for_each_look(self):
        table = list(csv.DictReader(io.StringIO(self.stat(str(self.start().pid), "--csv", "--interval=0.05", "--count=3"))))
        self.assertEqual(len(table), 3)
        self.assertEqual({len(row) for row in table}, {len(table[0])})
        times = [float(row["unix_seconds"]) for row in table]
        self.assertEqual(times, sorted(times))
        self.assertGreater(int(table[0]["pool_gets"]), 0)

    # ---- which process ----

    def test_two_processes_are_told_apart(self):
        first, second = self.start(), self.start()
        refusal = self.stat(status=1)
        listed = self.stat("--list")
        for process in (first, second):
            self.assertRegex(refusal, rf"\n  {process.pid}  dbbench  ")
            self.assertRegex(listed, rf"(?m)^{process.pid}  dbbench  {self.directory}/strongbin-stats\.")
            self.assertEqual(json.loads(self.stat(str(process.pid), "--json"))["pid"], process.pid)

    def test_what_is_not_there_is_told_with_what_to_do(self):
        self.assertIn("STRONGBIN_STATS_PAGE=1", self.stat(str(os.getpid()), status=1))
        self.assertIn("--list", self.stat("4194304", status=1))
        self.assertIn("No such file", self.stat("--file=/nonexistent", status=1))
        self.assertIn("no regular file", self.stat("--file=/dev/null", status=1))
        empty = pathlib.Path(self.directory) / "empty"
        empty.touch()
        self.assertIn("cut short", self.stat(f"--file={empty}", status=1))

    def test_wrong_use_is_refused(self):
        for arguments, reason in [(["x"], "no process number"), (["0"], "no process number"), (["1", "2"], "one process"),
                                  (["1", "--file=x"], "one process"), (["--json", "--csv"], "exclude each other"),
                                  (["--interval=0"], "--interval"), (["--interval=nan"], "--interval"), (["--nonsense"], "nonsense")]:
            with self.subTest(arguments=arguments):
                self.assertIn(reason, self.stat(*arguments, status=2))
        self.assertIn("--prometheus", self.stat("--help"))

    def test_another_layout_is_refused(self):
        source = pathlib.Path(self.directory, self.page_of(self.start())).read_bytes()
        page = bytearray(source)
        page[16] ^= 1  # in the hash of the layout
        path = pathlib.Path(self.directory) / "other"
        path.write_bytes(page)
        self.assertRegex(self.stat(f"--file={path}", status=1), "its layout is 1/.* this program reads 1/.*dbbench")

    # ---- life of a page ----

    def test_the_page_goes_with_its_process(self):
        process = self.start()
        process.send_signal(signal.SIGINT)  # dbbench ends as after Ctrl-C: with exit handlers
        process.wait(timeout=120)
        self.assertEqual(self.pages(), [])

    def test_the_page_of_a_killed_process_is_removed_by_list(self):
        process = self.start()
        process.kill()
        process.wait()
        self.assertEqual(len(self.pages()), 1)
        self.assertNotIn(self.directory, self.stat("--list"))
        self.assertEqual(self.pages(), [])

    # ---- the live view ----

    def test_watch_draws_frame_after_frame_and_gives_the_terminal_back(self):
        process = self.start()
        terminal = self.watch(str(process.pid))
        seen = set()

        def has_two_counts(screen):
            match = re.search(r"tables    entries ([\d,]+)", screen.text())
            if match:
                seen.add(match.group(1))
            return len(seen) >= 2

        self.assertTrue(terminal.read_until(has_two_counts), terminal.screen.text())
        lines = terminal.screen.lines()
        self.assertRegex(lines[0], rf"^dbbench, process {process.pid}   page open for 0:")
        for part in ("idle", "lent", "hit rate", "resets", "sorts", "drops", "entries/s", "1 MiB", "oversize"):
            self.assertIn(part, terminal.screen.text())
        self.assertEqual((terminal.screen.modes[1049], terminal.screen.modes[25]), (True, False))
        terminal.interrupt()
        self.assertEqual(terminal.finish(), 0)
        self.assertEqual((terminal.screen.modes[1049], terminal.screen.modes[25]), (False, True))
        self.assertEqual(terminal.screen.unknown, [])
        self.assertNotIn("^C", "".join(character for row in terminal.screen.last_full for character, _ in row))
        self.assertIsNone(process.poll(), "a reader has ended what it looked at")

    def test_watch_follows_the_size_of_the_terminal(self):
        terminal = self.watch(str(self.start().pid))
        self.assertTrue(terminal.read_until(lambda screen: "entries/s" in screen.text()))
        terminal.resize(50, 8)
        self.assertTrue(terminal.read_until(lambda screen: screen.lines()[6].startswith("2 KiB ")
                                            and screen.lines()[7].startswith("4 KiB ")), terminal.screen.text())
        # What was drawn for the old size may still come; then nothing reaches beyond the edge.
        terminal.screen.unknown.clear()
        for _ in range(5):
            terminal.read(0.1)
        self.assertEqual(terminal.screen.unknown, [])
        terminal.resize(120, 40)
        self.assertTrue(terminal.read_until(lambda screen: "entries/s" in screen.text()), terminal.screen.text())
        terminal.interrupt()
        self.assertEqual(terminal.finish(), 0)

    def test_watch_ends_with_its_process(self):
        process = self.start()
        terminal = self.watch(str(process.pid))
        self.assertTrue(terminal.read_until(lambda screen: "entries/s" in screen.text()))
        process.kill()
        process.wait()
        self.assertEqual(terminal.finish(), 0)
        self.assertFalse(terminal.screen.modes[1049])
        self.assertIn(f"process {process.pid}, has ended", terminal.screen.text())

    def test_watch_needs_a_terminal(self):
        self.assertIn("--csv", self.stat(str(self.start().pid), "--watch", status=2))

    def test_a_reader_that_is_killed_harms_nothing(self):
        process = self.start()
        for _ in range(10):
            reader = subprocess.Popen([STAT, str(process.pid), "--csv", "--interval=0.05"], env=self.env, stdout=subprocess.PIPE)
            reader.stdout.readline()
            reader.kill()
            reader.communicate()
        first = self.entries(process)
        deadline = time.monotonic() + 120
        while self.entries(process) <= first:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
