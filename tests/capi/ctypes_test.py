"""The C interface from another language, through nothing but what strongbin/c.h says.

usage: ctypes_test.py LIBRARY
"""

import ctypes
import json
import pathlib
import re
import sys
import unittest

HEADER = (pathlib.Path(__file__).resolve().parents[2] / "capi" / "c.h").read_text(encoding="utf-8")
LIBRARY = ctypes.CDLL(sys.argv[1])
NEWEST = 2**56 - 1


def number_of(name):
    """An enumerator or a plain #define of the header."""
    return int(re.search(rf"\b{name} (?:= )?(\d+)", HEADER)[1])


class Entry(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_void_p),
        ("key_bytes", ctypes.c_size_t),
        ("value", ctypes.c_void_p),
        ("value_bytes", ctypes.c_size_t),
        ("sequence", ctypes.c_uint64),
        ("kind", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]

    def triple(self):
        return ctypes.string_at(self.key, self.key_bytes), self.sequence, ctypes.string_at(self.value, self.value_bytes)


LIBRARY.strongbin_status_text.restype = ctypes.c_char_p
LIBRARY.strongbin_pool_relieve_pressure.restype = ctypes.c_size_t
LIBRARY.strongbin_table_entry_count.restype = ctypes.c_uint64


class Failure(Exception):
    pass


def call(name, *arguments):
    status = getattr(LIBRARY, name)(*arguments)
    if status != 0:
        raise Failure(LIBRARY.strongbin_status_text(status).decode())


class Table:
    """What a binding would be."""

    def __init__(self):
        self.pool = ctypes.c_void_p()
        self.handle = ctypes.c_void_p()
        call("strongbin_pool_create", None, ctypes.byref(self.pool))
        # size, pool, freeze_bytes, hard_budget_bytes, three expectations, four small numbers
        layout = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, *[ctypes.c_uint64] * 3, *[ctypes.c_uint32] * 4]
        fields = [(f"field{i}", kind) for i, kind in enumerate(layout)]
        options = type("Options", (ctypes.Structure,), {"_fields_": fields})()
        options.field0 = ctypes.sizeof(options)
        options.field1 = self.pool
        options.field2 = 1 << 19
        call("strongbin_table_create", ctypes.byref(options), ctypes.byref(self.handle))

    def close(self):
        LIBRARY.strongbin_table_destroy(self.handle)
        call("strongbin_pool_destroy", self.pool)

    def put(self, key, sequence, value):
        call("strongbin_table_put", self.handle, key, ctypes.c_size_t(len(key)), ctypes.c_uint64(sequence), value, ctypes.c_size_t(len(value)))

    def get(self, key, snapshot=NEWEST):
        entry = Entry()
        buffer = ctypes.create_string_buffer(1 << 16)
        call("strongbin_table_get_copy", self.handle, key, ctypes.c_size_t(len(key)), ctypes.c_uint64(snapshot), buffer,
             ctypes.c_size_t(len(buffer)), ctypes.byref(entry))
        return ctypes.string_at(entry.value, entry.value_bytes)

    def scan(self):
        iterator = ctypes.c_void_p()
        call("strongbin_iterator_create", self.handle, None, ctypes.byref(iterator))
        try:
            valid = LIBRARY.strongbin_iterator_seek_to_first(iterator)
            while valid:
                entry = Entry()
                call("strongbin_iterator_entry", iterator, ctypes.byref(entry))
                yield entry.triple()
                valid = LIBRARY.strongbin_iterator_next(iterator)
            call("strongbin_iterator_status", iterator)
        finally:
            LIBRARY.strongbin_iterator_destroy(iterator)

    def pool_stats(self):
        text = ctypes.c_void_p()
        call("strongbin_pool_stats", self.pool, number_of("STRONGBIN_JSON"), b"python", ctypes.byref(text))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            LIBRARY.strongbin_text_free(text)


class CtypesTest(unittest.TestCase):
    def setUp(self):
        self.table = Table()
        self.addCleanup(self.table.close)

    def test_header_and_library_are_of_one_version(self):
        self.assertEqual(LIBRARY.strongbin_c_version(), number_of("STRONGBIN_C_VERSION"))

    def test_what_is_put_is_read_back_in_order(self):
        self.table.put(b"pear", 1, b"green")
        self.table.put(b"apple\0", 2, b"\0red")
        self.table.put(b"pear", 3, b"yellow")
        self.assertEqual(self.table.get(b"pear"), b"yellow")
        self.assertEqual(self.table.get(b"pear", 2), b"green")
        self.assertEqual(list(self.table.scan()), [(b"apple\0", 2, b"\0red"), (b"pear", 3, b"yellow")])

    def test_failures_say_what_is_wrong(self):
        self.table.put(b"a", 1, b"1")
        with self.assertRaisesRegex(Failure, "already holds"):
            self.table.put(b"a", 1, b"2")
        with self.assertRaisesRegex(Failure, "no version"):
            self.table.get(b"b")
        call("strongbin_table_freeze", self.table.handle)
        with self.assertRaisesRegex(Failure, "frozen"):
            self.table.put(b"a", 2, b"2")

    def test_memory_goes_to_the_pool_and_from_there_to_the_system(self):
        for i in range(10_000):
            self.table.put(b"key %d" % i, i, b"v" * 50)
        self.assertEqual(LIBRARY.strongbin_table_should_freeze(self.table.handle), 1)
        call("strongbin_table_reset", self.table.handle, number_of("STRONGBIN_RETURN_BUSY"))
        self.assertEqual(LIBRARY.strongbin_table_entry_count(self.table.handle), 0)
        idle = self.table.pool_stats()["metrics"]["idle_bytes"]["sum"]
        self.assertGreater(idle, 500_000)
        self.assertEqual(LIBRARY.strongbin_pool_relieve_pressure(self.table.pool), idle)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
