"""What the installed headers include is installed as well, and no header of the list is missing.

usage: headers_test.py HEADER ...     paths below the root of the tree
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"strongbin/([^"]+)"', re.M)
HEADERS = sys.argv[1:]


class HeadersTest(unittest.TestCase):
    def test_headers_include_installed_headers_alone(self):
        self.assertTrue(HEADERS)
        for header in HEADERS:
            for included in INCLUDE.findall((ROOT / header).read_text(encoding="utf-8")):
                with self.subTest(header=header):
                    self.assertIn(included, HEADERS)

    def test_no_internal_folder_is_installed(self):
        self.assertEqual([header for header in HEADERS if header.startswith(("tests/", "tools/"))], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
