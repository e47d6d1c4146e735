"""The worked example of docs/embedding.md is a store: what was answered with success is there after a crash.

usage: tiny_store_test.py PROGRAM
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
# The store syncs each write; memory makes that quick.
FAST_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class TinyStoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=FAST_FOLDER)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "store")

    def run_store(self, *words):
        return subprocess.run([PROGRAM, str(self.folder), *words], capture_output=True, text=True, check=False)

    def expect(self, status, output, *words):
        result = self.run_store(*words)
        self.assertEqual((result.returncode, result.stdout), (status, output), result.stderr)

    def test_log_brings_back_what_was_never_flushed(self):
        self.expect(0, "", "put", "apple", "red")
        self.expect(0, "", "put", "pear", "green")
        self.expect(0, "", "put", "apple", "yellow")
        self.expect(0, "", "delete", "pear")
        self.expect(0, "yellow\n", "get", "apple")
        self.expect(1, "(nothing)\n", "get", "pear")

    def test_record_cut_short_by_a_crash_is_cut_off(self):
        self.expect(0, "", "put", "apple", "red")
        self.expect(0, "", "put", "pear", "green")
        log = self.folder / "log"
        log.write_bytes(log.read_bytes()[:-3])
        self.expect(0, "red\n", "get", "apple")
        self.expect(1, "(nothing)\n", "get", "pear")
        self.expect(0, "", "put", "pear", "brown")
        self.expect(0, "brown\n", "get", "pear")

    def test_flushed_tables_are_read_from_their_files_and_newer_writes_win(self):
        result = self.run_store("fill", "30000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("hits", result.stdout)  # emptied tables have been filled again from the pool
        self.assertGreater(len(list(self.folder.glob("sorted.*"))), 2)
        self.expect(0, "a" * 100 + "\n", "get", "key 0")
        self.expect(0, "v" * 100 + "\n", "get", "key 29999")
        self.expect(0, "", "delete", "key 0")
        self.expect(1, "(nothing)\n", "get", "key 0")

    def test_crash_between_file_and_log_loses_and_doubles_nothing(self):
        self.expect(0, "", "put", "apple", "red")
        log = (self.folder / "log").read_bytes()
        self.assertEqual(self.run_store("fill", "10000").returncode, 0)
        first = self.folder / "sorted.1"
        self.assertIn(b"apple", first.read_bytes())
        for other in self.folder.glob("sorted.*"):
            if other != first:
                other.unlink()
        (self.folder / "log").write_bytes(log)  # as if the process had ended right after the rename
        self.expect(0, "red\n", "get", "apple")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
