"""Each deliberate fault makes a test fail that passes without it; builds that are shipped have none of them.

usage: test_points_test.py mutants FOLDER_OF_TEST_PROGRAMS sanitize=SANITIZERS
       test_points_test.py absent LIBRARY ...
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "stats" / "test_points.h"

# The fault, the program and the test that must fail.
MUTANTS = {
    "chunk_returned_twice": ("arena/monotonic_arena_test", "MonotonicArenaTest.ReleaseGoesToThePoolAndDropPastIt"),
    "chunk_returned_with_iterator_open": ("memtable/lifecycle_test", "LifecycleTest.BusyResetsChangeNothing"),
    "counter_not_decremented": (
        "pool/pool_stress_test", "PoolPropertyTest.StatisticsAgreeWithAnIndependentCountAtEveryQuietPoint"),
    "off_by_one_at_class_boundary": (
        "pool/chunk_pool_test", "ChunkPoolTest.EveryBoundaryIsServedByTheSmallestClassThatHoldsIt"),
    "unsorted_pair_in_run": ("memtable/large_table_test", "LargeTableTest.LongTailIsSortedAtOnce"),
    "wake_up_lost_at_busy_reset": ("memtable/lifecycle_test", "LifecycleTest.WaitingResetWaitsForPins"),
    "version_by_arrival": ("memtable/version_test", "VersionTest.GetFindsTheNewestAtOrBelowEachSnapshot"),
    "last_pin_frees_nothing": ("memtable/pin_test", "PinTest.IteratorReadsOnAfterItsTable"),
    "half_of_a_failed_batch_shown": ("memtable/failure_test", "FailureTest.OutOfOrderBatchThatFailsHidesAllItsEntries"),
    "cap_not_kept": ("pool/retention_test", "RetentionTest.TheCapIsExactForEveryClass"),
    "idle_chunks_left_behind_by_pressure": ("pool/pressure_test", "PressureTest.EmptiesTheBinsAndLeavesWhatIsLent"),
}
# Faults that only the thread sanitizer can see: this machine's loads order more than the language promises.
THREAD_MUTANTS = {
    "missing_acquire_on_publication": (
        "memtable/concurrency_test", "ConcurrencyTest.IteratorsBesideWritersStayInOrderAndSeeWhatWasPublished"),
}
# A lost wake-up shows as a test that never ends; without its fault it takes milliseconds.
HANGING_MUTANT = "wake_up_lost_at_busy_reset"
HANG_SECONDS = 10


def names_in_header():
    block = re.search(r"#define STRONGBIN_MUTATIONS\(X\)(.*?)\n\n", HEADER.read_text(encoding="utf-8"), re.S).group(1)
    return set(re.findall(r"X\((\w+)\)", block))


class MutantsTest(unittest.TestCase):
    programs = None
    sanitizers = ""

    def run_test(self, program, test, mutation):
        environment = {key: value for key, value in os.environ.items() if key != "STRONGBIN_MUTATION"}
        if mutation:
            environment["STRONGBIN_MUTATION"] = mutation
        command = [self.programs / program.replace("/", "_"), f"--gtest_filter={test}:*/{test}/*"]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                                  timeout=HANG_SECONDS if mutation == HANGING_MUTANT else None, check=False)
            return done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as expired:
            return "hangs", (expired.stdout or b"").decode(errors="replace")

    def test_every_fault_has_its_test(self):
        self.assertEqual(names_in_header(), MUTANTS.keys() | THREAD_MUTANTS.keys())

    def test_no_mutant_survives(self):
        mutants = THREAD_MUTANTS if self.sanitizers == "thread" else MUTANTS
        for mutation, (program, test) in mutants.items():
            with self.subTest(mutation=mutation, test=test):
                status, output = self.run_test(program, test, None)
                self.assertEqual(status, 0, output[-4000:])
                self.assertRegex(output, r"\[ RUN      \] \S*" + re.escape(test))
                status, output = self.run_test(program, test, mutation)
                self.assertNotEqual(status, 0, f"{mutation} survived {test}")
                self.assertRegex(output, r"\[ RUN      \] \S*" + re.escape(test), "failed before the test began")
                print(f"{mutation}: caught by {program} {test} ({status})")

    def test_a_fault_that_is_none_is_refused(self):
        status, output = self.run_test("pool/chunk_pool_test", "ChunkPoolTest.*", "no_such_fault")
        self.assertEqual(status, 2, output)


class AbsentTest(unittest.TestCase):
    libraries = []

    def test_nothing_is_left_in_what_is_shipped(self):
        self.assertTrue(self.libraries)
        for library in self.libraries:
            with self.subTest(library=library):
                content = pathlib.Path(library).read_bytes()
                self.assertIn(b"strongbin", content)
                for trace in (b"STRONGBIN_MUTATION", b"test_points", b"Mutat", b"Perturb", b"YieldPoint", b"Watched"):
                    self.assertNotIn(trace, content)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "mutants":
        MutantsTest.programs = pathlib.Path(sys.argv[2])
        MutantsTest.sanitizers = sys.argv[3].removeprefix("sanitize=")
        chosen = "MutantsTest"
    elif len(sys.argv) > 2 and sys.argv[1] == "absent":
        AbsentTest.libraries = sys.argv[2:]
        chosen = "AbsentTest"
    else:
        sys.exit(__doc__)
    unittest.main(argv=[sys.argv[0], chosen])
