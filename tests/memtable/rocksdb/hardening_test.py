"""The shared library is linked as one that is loaded into other people's programs should be.

usage: hardening_test.py LIBRARY sanitize=SANITIZERS
"""

import subprocess
import sys
import unittest

LIBRARY, SANITIZERS = sys.argv[1], sys.argv[2].removeprefix("sanitize=")


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments, LIBRARY], capture_output=True, text=True, check=True).stdout


class HardeningTest(unittest.TestCase):
    def test_no_segment_is_writable_and_executable(self):
        flags = {}
        for line in readelf("--segments").splitlines():
            fields = line.split()
            if fields and fields[0] in ("LOAD", "GNU_STACK", "GNU_RELRO"):
                flags.setdefault(fields[0], []).append("".join(fields[6:-1]))
        self.assertIn("GNU_RELRO", flags)
        self.assertIn("GNU_STACK", flags)
        for of_kind in flags.values():
            for flag in of_kind:
                self.assertFalse("W" in flag and "E" in flag, flags)

    def test_everything_is_bound_at_once_and_nothing_rewrites_code(self):
        dynamic = readelf("--dynamic")
        self.assertRegex(dynamic, r"BIND_NOW|Flags: .*NOW")
        self.assertNotIn("TEXTREL", dynamic)

    def test_it_stays_where_it_was_loaded(self):
        self.assertIn("NODELETE", readelf("--dynamic"))

    @unittest.skipIf(SANITIZERS, "the sanitizers watch the stack themselves")
    def test_stack_frames_are_guarded_where_strings_of_others_are_read(self):
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
