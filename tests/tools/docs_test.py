"""Every file and folder of the tree that the pages for people name exists, and every link within them leads somewhere."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
FOLDERS = "stats|pool|arena|memtable|tools|tests|docs|cmake|\\.ci"
# In backticks or in a command line of a code block: tools/setup, docs/statistics.md, stats/
PATH = re.compile(rf"(?:^|[`\s])((?:{FOLDERS})/[\w./-]*)", re.M)
# In a table: `tests/pool/slab_test.cc` SlabTest.RunsOfBitsAreFoundAcrossWords SlabTest.…
TESTS = re.compile(r"`(tests/[\w/]+_test\.cc)`((?: [A-Z]\w*Test\.\w+)+)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


class DocsTest(unittest.TestCase):
    def test_named_paths_exist(self):
        found = 0
        for page in PAGES:
            for path in PATH.findall(page.read_text(encoding="utf-8")):
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
        for page in PAGES:
            for target in LINK.findall(page.read_text(encoding="utf-8")):
                found += 1
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())
        self.assertGreater(found, 0)


if __name__ == "__main__":
    unittest.main()
