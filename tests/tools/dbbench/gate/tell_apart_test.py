"""`dbbench gate` does not tell equal sides apart, and does tell a side that is a quarter slower, at the same probability of
an error. It measures, in a release build, on a machine that others may use at the same time: so it looks at the median
latency of a batch, which an interruption does not move, and not at the rate, which contains every one of them.

usage: tell_apart_test.py DBBENCH
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

DBBENCH = sys.argv.pop(1)
PAIRS = 16
MOST_PAIRS = 64  # until a slower side is told apart


class TellApartTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.results = pathlib.Path(directory.name) / "results.jsonl"

    def gate(self, candidate, pairs):
        """Goes on from the pairs that the results of this test hold already."""
        return subprocess.run(
            [DBBENCH, "gate", "--baseline=memtable", f"--candidate={candidate}", f"--pairs={pairs}", "--require=p50_ns=same", "--alpha=0.001",
             "--keys=200000", "--tests=dataset_write_random", "--generations=6", f"--results={self.results}",
             "--quiet_processors=1000", "--max_repeats=0", "--wait_quiet_seconds=0", "--drop_caches=false"],
            capture_output=True, text=True, check=False, timeout=500)

    def test_equal_sides_are_not_told_apart(self):
        result = self.gate("memtable", PAIRS)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("PASS p50_ns=same", result.stdout)

    def test_a_side_that_is_a_quarter_slower_is(self):
        pairs = PAIRS
        result = self.gate("memtable --inject_slowdown=0.25", pairs)
        while result.returncode == 0 and pairs < MOST_PAIRS:
            pairs *= 2
            result = self.gate("memtable --inject_slowdown=0.25", pairs)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("FAIL p50_ns=same", result.stdout)


if __name__ == "__main__":
    unittest.main()
