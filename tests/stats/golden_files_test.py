"""The golden files, which the exporters' tests compare with, are what their formats ask for."""

import json
import pathlib
import re
import unittest

TESTDATA = pathlib.Path(__file__).resolve().parent / "testdata"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (\d+)$')


def numbers_of(value):
    """All numbers of a JSON value but the sums."""
    if isinstance(value, dict):
        return [n for key, member in value.items() if key != "sum" for n in numbers_of(member)]
    return [value]


class GoldenFilesTest(unittest.TestCase):
    def test_json_is_valid_and_every_number_differs(self):
        for name in ("pool.json", "table.json", "rocksdb.json"):
            page = json.loads((TESTDATA / name).read_text(encoding="utf-8"))
            numbers = numbers_of(page["metrics"])
            self.assertEqual(numbers, [1000003 * (i + 1) for i in range(len(numbers))])

    def test_json_sums_are_sums(self):
        for name in ("pool.json", "table.json"):
            metrics = json.loads((TESTDATA / name).read_text(encoding="utf-8"))["metrics"]
            sums = {name: value for name, value in metrics.items() if isinstance(value, dict) and "sum" in value}
            self.assertGreater(len(sums), 0)
            for value in sums.values():
                self.assertEqual(value["sum"], sum(numbers_of(value)))

    def test_json_labels_survive(self):
        page = json.loads((TESTDATA / "pool.json").read_text(encoding="utf-8"))
        self.assertEqual(page["labels"], {"pool": 'de"fault\\', "host": "a\nb"})

    def test_prometheus_shows_the_numbers_of_the_json(self):
        for group in ("pool", "table", "rocksdb"):
            page = json.loads((TESTDATA / f"{group}.json").read_text(encoding="utf-8"))
            values = []
            for line in (TESTDATA / f"{group}.prom").read_text(encoding="utf-8").splitlines():
                if line.startswith("# "):
                    continue
                match = SAMPLE.match(line)
                self.assertIsNotNone(match, line)
                values.append(int(match.group(3)))
            self.assertEqual(values, numbers_of(page["metrics"]))


if __name__ == "__main__":
    unittest.main()
