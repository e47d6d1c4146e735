"""Runs `dbbench gate`: what it refuses, what it keeps, and that it goes on where it was interrupted.

usage: gate_test.py DBBENCH
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DBBENCH = sys.argv.pop(1)
SMALL = ["--keys=20000", "--tests=dataset_write_random", "--batchsize=100"]
# The test says what is to be seen whatever else the machine does.
ANY_LOAD = ["--quiet_processors=1000", "--max_repeats=0", "--wait_quiet_seconds=0", "--drop_caches=false"]


class GateTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.results = pathlib.Path(self.directory.name) / "results.jsonl"

    def tearDown(self):
        self.directory.cleanup()

    def command(self, *arguments, small=SMALL):
        return [DBBENCH, "gate", f"--results={self.results}", f"--db={self.directory.name}", *small, *ANY_LOAD, *arguments]

    def gate(self, *arguments, **options):
        return subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, check=False, timeout=500)

    def lines(self):
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        sides = ["--baseline=memtable", "--candidate=memtable"]
        for arguments, words in [
            (["--candidate=memtable"], "--baseline"),
            (["--baseline=leveldb", "--candidate=memtable"], "rocksdb:skip_list"),
            (["--baseline=lib=/no/such/file", "--candidate=memtable"], "no such file"),
            ([*sides, "--require=speed>=1x"], "fresh_key_chunks"),
            ([*sides, "--require", "ops>1x"], "NUMBER"),
            ([*sides, "--pairs=0"], "1 or more"),
        ]:
            with self.subTest(arguments=arguments):
                result = self.gate(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr)
        self.assertFalse(self.results.exists())

    def test_a_side_that_fails_ends_the_gate_with_its_reason(self):
        result = self.gate("--baseline=memtable", "--candidate=memtable --threads=0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--threads", result.stderr)

    def test_counts_are_judged_and_kept(self):
        small = [*SMALL, "--generations=2"]
        result = self.gate("--baseline=memtable pool=off", "--candidate=memtable", "--pairs=6", "--require=fresh_key_chunks<=0.9x",
                           "--require", "warm_fresh_key_chunks<=0x", "--label=counts", small=small)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"PASS warm_fresh_key_chunks<=0x  dataset_write_random: ratio 0 \(0 to 0\)")
        self.assertIn("pool off (every chunk is mapped fresh and unmapped again)", result.stdout)
        header, *pairs = self.lines()
        self.assertEqual(header["label"], "counts")
        self.assertEqual([pair["order"] for pair in pairs], ["AB", "BA"] * 3)
        self.assertEqual({pair["label"] for pair in pairs}, {"counts"})
        self.assertIn("rows", pairs[0]["candidate"]["report"])
        # What is in the file is not measured again.
        again = self.gate("--baseline=memtable pool=off", "--candidate=memtable", "--pairs=6", "--require=fresh_key_chunks<=0.1x",
                          "--label=counts", small=small)
        self.assertEqual(again.returncode, 1)
        self.assertIn("FAIL fresh_key_chunks<=0.1x", again.stdout)
        self.assertEqual(len(self.lines()), 7)
        other = self.gate("--baseline=memtable", "--candidate=memtable", "--label=counts", small=small)
        self.assertEqual(other.returncode, 1)
        self.assertIn("another comparison", other.stderr)

    def test_an_interrupted_gate_goes_on_where_it_ended(self):
        arguments = ["--baseline=memtable", "--candidate=memtable", "--pairs=8"]
        process = subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if self.results.exists() and len(self.results.read_text().splitlines()) >= 3:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("goes on", errors)
        before = self.lines()
        self.assertLess(len(before), 9)
        result = self.gate(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"8 counted, {len(before) - 1} of them from an earlier call", result.stdout)
        self.assertEqual(self.lines()[:len(before)], before)
        self.assertEqual(os.listdir(self.directory.name), ["results.jsonl"])

    def test_load_beside_it_is_seen_and_pairs_are_repeated(self):
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            result = self.gate("--baseline=memtable", "--candidate=memtable", "--pairs=2", "--max_repeats=1", "--quiet_processors=0.2")
        finally:
            busy.kill()
            busy.wait()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 of them DISTURBED by other load; 1 disturbed ones were repeated", result.stdout)
        self.assertEqual([pair["counted"] for pair in self.lines()[1:]], [False, True, True])
        self.assertIn("others used", self.lines()[1]["disturbed"])


if __name__ == "__main__":
    unittest.main()
