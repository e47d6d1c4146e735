"""tools/check-includes finds each kind of violation in a made-up tree, and nothing in a clean one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-includes"

CLEAN = {
    "stats/a.h": "#pragma once\n#include <vector>\n",
    "pool/b.h": '#pragma once\n#include "strongbin/stats/a.h"\n',
    "pool/b.cc": '#include "strongbin/pool/b.h"\n#include <xxhash.h>\n',
    "memtable/c.h": '#pragma once\n#include "strongbin/pool/b.h"\n',
    "memtable/rocksdb/d.h": '#pragma once\n#include "strongbin/memtable/c.h"\n#include <rocksdb/memtablerep.h>\n',
    "tools/x/main.cc": '#include "strongbin/memtable/rocksdb/d.h"\n#include <rocksdb/db.h>\n',
    "tests/t_test.cc": '#include "strongbin/tools/x/main.cc"\n',
}


class CheckIncludesTest(unittest.TestCase):
    def run_on(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            result = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True, check=False)
            return result.returncode, result.stdout

    def expect_violation(self, name, text, words):
        status, output = self.run_on({name: text})
        self.assertEqual(status, 1, output)
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertIn(name, output)
        self.assertIn(words, output)

    def test_clean_tree_passes(self):
        self.assertEqual(self.run_on({}), (0, ""))

    def test_upward_include(self):
        self.expect_violation("stats/up.cc", '#include "strongbin/pool/b.h"\n', "stats may not include pool")

    def test_upward_include_with_odd_spacing(self):
        self.expect_violation("stats/up.cc", '  #  include "strongbin/pool/b.h" // why\n', "stats may not include pool")

    def test_core_may_not_include_the_adapter_beneath_its_folder(self):
        self.expect_violation("memtable/up.cc", '#include "strongbin/memtable/rocksdb/d.h"\n', "memtable may not include")

    def test_nothing_includes_tests(self):
        self.expect_violation("tools/up.cc", '#include "strongbin/tests/t_test.cc"\n', "tools may not include tests")

    def test_rocksdb_header_in_the_core(self):
        self.expect_violation("memtable/r.cc", "#include <rocksdb/db.h>\n", "may include RocksDB headers")

    def test_rocksdb_header_in_quotes(self):
        self.expect_violation("tools/r.cc", '#include "rocksdb/db.h"\n', "others <...>")

    def test_own_header_without_the_project_name(self):
        self.expect_violation("pool/s.cc", '#include "pool/b.h"\n', "own headers are spelled")

    def test_own_header_in_angle_brackets(self):
        self.expect_violation("pool/s.cc", "#include <strongbin/pool/b.h>\n", 'included with "..."')

    def test_missing_file(self):
        self.expect_violation("pool/m.cc", '#include "strongbin/pool/none.h"\n', "no such file")

    def test_include_of_a_macro(self):
        self.expect_violation("pool/m.cc", "#include HEADER\n", "spell out")

    def test_header_without_pragma_once(self):
        self.expect_violation("pool/p.h", "struct P;\n", "#pragma once")

    def test_source_outside_the_layers(self):
        self.expect_violation("misc/p.cc", "struct P;\n", "lies in no layer")

    def test_empty_tree_is_no_clean_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1, result.stdout)


if __name__ == "__main__":
    unittest.main()
