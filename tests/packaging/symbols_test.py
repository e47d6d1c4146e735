"""The shared libraries show the symbols that packaging/*.symbols lists, no more and no fewer, and the lists forget no member of a
class that users see.

usage: symbols_test.py [LIST=LIBRARY ...] [--archive LIST=ARCHIVE ...]
"""

import pathlib
import re
import subprocess
import sys
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
LIBRARIES = {}
ARCHIVES = {}

# Classes within a class of the interface are its private matter.
INNER = re.compile(r"^strongbin::\w+::(?:Impl|State)\b")
NAME = re.compile(r"^(?:vtable for |typeinfo (?:name )?for )?strongbin::(\w+)(?:::|$|\(|\[)")


def listed(name):
    lines = (PACKAGING / name).read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line and line[0] not in "#!"]
    hidden = [line[1:] for line in lines if line.startswith("!")]
    return shown, hidden


def symbols_of(path, *arguments, kinds):
    output = subprocess.run(["nm", "-C", "--defined-only", *arguments, path], capture_output=True, text=True, check=True).stdout
    return {match[1] for match in re.finditer(rf"^[0-9a-f]+ [{kinds}] (.*)$", output, re.M)}


class SymbolsTest(unittest.TestCase):
    def test_library_shows_what_its_list_names(self):
        self.assertTrue(LIBRARIES)
        for name, library in LIBRARIES.items():
            shown, _ = listed(name)
            self.assertEqual(len(shown), len(set(shown)), f"{name} has a line twice")
            found = symbols_of(library, "-D", kinds="A-Za-z")
            with self.subTest(list=name):
                self.assertEqual(sorted(set(shown) - found), [], "listed, but not in the library: taken away or changed?")
                self.assertEqual(sorted(found - set(shown)), [], "in the library, but not listed")

    def test_list_names_every_function_of_the_c_header(self):
        shown, _ = listed("libstrongbin.symbols")
        header = re.sub(r"//.*", "", (PACKAGING.parent / "capi" / "c.h").read_text(encoding="utf-8"))
        declared = re.findall(r"^\w[\w* ]*?(strongbin_\w+)\(", header, re.M)
        self.assertGreater(len(declared), 30)
        self.assertEqual(sorted(declared), sorted(symbol for symbol in shown if "::" not in symbol))

    def test_list_forgets_no_member_of_a_listed_class(self):
        self.assertTrue(ARCHIVES)
        for name, archive in ARCHIVES.items():
            shown, hidden = listed(name)
            classes = {match[1] for symbol in shown if (match := NAME.match(symbol))}
            # Strong ones: what is inline in a header needs no library.
            defined = symbols_of(archive, kinds="TDBR")
            forgotten = [
                symbol
                for symbol in sorted(defined - set(shown) - set(hidden))
                if (match := NAME.match(symbol)) and match[1] in classes and not INNER.match(symbol)
            ]
            with self.subTest(list=name):
                self.assertEqual(forgotten, [], 'neither shown nor marked as hidden with "!"')
                self.assertEqual(sorted(set(hidden) - defined), [], "marked as hidden, but gone")


def main():
    target = LIBRARIES
    for argument in sys.argv[1:]:
        if argument == "--archive":
            target = ARCHIVES
        else:
            name, _, path = argument.partition("=")
            target[name] = path
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
