"""tools/setup lists each package once, and docs/dependencies.md gives a reason for each."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_setup(*arguments):
    return subprocess.run([ROOT / "tools" / "setup", *arguments], capture_output=True, text=True, check=False)


class SetupTest(unittest.TestCase):
    def test_lists_each_package_once(self):
        packages = run_setup("--list").stdout.split()
        self.assertGreater(len(packages), 0)
        self.assertEqual(len(packages), len(set(packages)))

    def test_groups_add_up_to_all(self):
        groups = run_setup("--list", "build", "test", "check", "package").stdout.split()
        self.assertEqual(groups, run_setup("--list", "all").stdout.split())

    def test_unknown_group_is_refused_by_name(self):
        result = run_setup("nonsense")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'nonsense'", result.stderr)

    def test_docs_give_the_reason_for_exactly_these_packages(self):
        text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
        documented = [name for row in re.findall(r"^\| (`[^|]+`) \|", text, re.M) for name in re.findall(r"`([^`]+)`", row)]
        self.assertEqual(sorted(documented), sorted(run_setup("--list").stdout.split()))


if __name__ == "__main__":
    unittest.main()
