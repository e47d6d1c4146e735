"""`dbbench gate` does not tell equal sides apart, and does tell a side that is a quarter slower, at the same probability of
an error. It measures: a release build on a machine that does nothing else. Warm rounds are looked at: what a cold one costs
is the host's to say, by a factor of two from run to run.

usage: tell_apart_test.py DBBENCH
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

DBBENCH = sys.argv.pop(1)
PAIRS = 16


class TellApartTest(unittest.TestCase):
    def gate(self, candidate):
        with tempfile.TemporaryDirectory() as directory:
            return subprocess.run(
                [DBBENCH, "gate", "--baseline=memtable", f"--candidate={candidate}", f"--pairs={PAIRS}", "--require=warm_ops=same", "--alpha=0.001",
                 "--keys=200000", "--tests=dataset_write_random", "--generations=3", f"--results={pathlib.Path(directory) / 'results.jsonl'}",
                 "--quiet_processors=1000", "--wait_quiet_seconds=0", "--drop_caches=false"],
                capture_output=True, text=True, check=False, timeout=500)

    def test_equal_sides_are_not_told_apart(self):
        result = self.gate("memtable")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("PASS warm_ops=same", result.stdout)

    def test_a_side_that_is_a_quarter_slower_is(self):
        result = self.gate("memtable --inject_slowdown=0.25")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("FAIL warm_ops=same", result.stdout)


if __name__ == "__main__":
    unittest.main()
