"""Runs the dbbench program: its command line, its formats, Ctrl-C, and what it must never mix up.

usage: dbbench_test.py DBBENCH
"""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DBBENCH = sys.argv.pop(1)
SMALL = ["--keys=3000", "--latency_ops=100", "--batchsize=100", "--progress=false"]


def run(*arguments, **options):
    return subprocess.run([DBBENCH, *arguments], capture_output=True, text=True, check=False, timeout=300, **options)


def rows(*arguments):
    result = run(*SMALL, "--format=json", *arguments)
    if result.returncode != 0:
        raise AssertionError(f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return json.loads(result.stdout)["rows"]


class CommandLineTest(unittest.TestCase):
    def test_wrong_values_name_the_allowed_ones(self):
        for flag, allowed in [
            ("--dbs=leveldb", "rocksdb:skip_list"),
            ("--dbs=rocksdb:nonsense", "skip_list"),
            ("--dbs=", "memtable"),
            ("--tests=fillrandom", "dataset_write_random"),
            ("--profile=slow", "durable"),
            ("--format=xml", "markdown"),
            ("--huge_pages=maybe", "off"),
            ("--chunk_source=sbrk", "malloc"),
            ("--keys=0", "1 to"),
            ("--threads=0", "1 to"),
            ("--rate=-1", "0 or more"),
            ("--keysize=1", "256"),
            ("--valsize=99999999999", "0 to"),
        ]:
            with self.subTest(flag=flag):
                arguments = [flag, "--keys=300"] if flag == "--keysize=1" else [flag]
                result = run(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout, "")
                self.assertIn("allowed" if "keysize" not in flag and "nonsense" not in flag else "", result.stderr)
                if "keysize" not in flag:
                    self.assertIn(allowed, result.stderr)

    def test_unknown_flags_and_words_are_refused(self):
        self.assertEqual(run("--nonsense=1").returncode, 2)
        self.assertEqual(run("--keys=many").returncode, 2)
        result = run("selfchek")
        self.assertEqual(result.returncode, 2)
        self.assertIn("selfcheck", result.stderr)

    def test_durable_memtable_is_refused_with_the_reason(self):
        result = run("--dbs=rocksdb:skip_list,memtable", "--profile=durable")
        self.assertEqual(result.returncode, 2)
        self.assertIn("write-ahead log", result.stderr)

    def test_help_lists_each_flag_and_succeeds(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for flag in ["--dbs", "--generations", "--profile_dir", "--max_seconds"]:
            self.assertIn(flag, result.stdout)


class FormatTest(unittest.TestCase):
    def test_json_is_valid_and_complete(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "report.json"
            result = run(*SMALL, "--dbs=memtable", "--label=quote \" and , comma", "--format=json", f"--out={path}")
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            self.assertEqual(subprocess.run([sys.executable, "-m", "json.tool", path], capture_output=True, check=False).returncode, 0)
            report = json.loads(path.read_text())
        self.assertEqual(report["settings"]["label"], 'quote " and , comma')
        self.assertIn("assertions, RocksDB", report["environment"])
        self.assertIn("gets", report["pools"]["memtable"]["metrics"])
        self.assertEqual(len(report["rows"]), 4)

    def test_csv_has_the_same_columns_in_each_row_and_as_json(self):
        text = run(*SMALL, "--dbs=memtable,none", "--format=csv").stdout
        table = list(csv.reader(io.StringIO(text)))
        self.assertEqual(len(table), 9)
        self.assertEqual({len(line) for line in table}, {len(table[0])})
        row = rows("--dbs=none", "--tests=readrandom", "--timeline_ms=1")[0]
        self.assertEqual(table[0], [name for name in row if name not in ("service_curve", "timeline")])
        self.assertEqual(row["service_curve"][-1], [1, row["service_max_ns"]])

    def test_markdown_has_its_tables(self):
        text = run(*SMALL, "--dbs=memtable").stdout
        for title in ["## Environment", "## Throughput", "## Latency", "## Memory", "## Pool of memtable at the end"]:
            self.assertIn(title, text)


class ContentTest(unittest.TestCase):
    def test_every_engine_does_the_same_work_and_has_the_same_content(self):
        engines = "memtable,kv,rocksdb:strongbin,rocksdb:skip_list,rocksdb:vector"
        # With small memtables content is spread over several of them; RocksDB's hash buckets need a larger one.
        for threads, memtable_bytes in [(1, 128 << 10), (3, 128 << 10), (2, 16 << 20)]:
            if memtable_bytes >= 16 << 20:
                engines += ",rocksdb:prefix_hash"
            tests = "dataset_write_random,dataset_write_sorted,overwrite,readrandom,seekrandom,readseq,mixed"
            found = rows(f"--dbs={engines}", f"--tests={tests}", f"--threads={threads}", "--reads=50",
                         f"--memtable_bytes={memtable_bytes}", "--generations=2")
            by_test = {}
            for row in found:
                self.assertEqual(row["finished"], "yes", row)
                self.assertEqual(row["note"], "")
                key = (row["test"], row["timing"])
                by_test.setdefault(key, set()).add((row["operations"], row["distinct_keys"], row["found"], row["checksum"]))
            self.assertEqual(len(by_test), 14)
            for key, contents in by_test.items():
                self.assertEqual(len(contents), 1, (threads, key, contents))
            if memtable_bytes < 1 << 20:
                self.assertGreater(max(row["tables"] for row in found if row["engine"] == "memtable"), 2)

    def test_a_memtable_too_small_for_hash_buckets_is_refused_with_the_reason(self):
        result = run(*SMALL, "--dbs=rocksdb:prefix_hash", "--memtable_bytes=1048576", "--format=json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("hash buckets", json.loads(result.stdout)["rows"][0]["note"])

    def test_totals_are_totals_and_the_rate_is_operations_by_wall_time(self):
        for row in rows("--dbs=memtable,rocksdb:skip_list", "--threads=4", "--keys=1000", "--tests=dataset_write_random,readrandom"):
            if row["timing"] == "single":
                continue
            self.assertEqual(row["operations"], 1000)
            self.assertAlmostEqual(row["ops_per_second"] * row["wall_seconds"] / 1000, 1, places=2)
            if row["test"] == "readrandom":
                self.assertEqual((row["found"], row["asked"]), (1000, 1000))
            else:
                self.assertEqual((row["distinct_keys"], row["drained_keys"]), (1000, 1000))

    def test_cold_and_warm_rounds_are_rows_of_their_own(self):
        found = rows("--dbs=memtable", "--tests=dataset_write_random", "--generations=3", "--latency_ops=0")
        self.assertEqual([row["round"] for row in found], ["1 cold", "2 warm", "3 warm"])
        self.assertGreater(found[0]["fresh_chunks"], 0)
        self.assertGreater(found[2]["pool_hits"], 0)

    def test_a_checkpoint_makes_the_next_test_cold(self):
        found = rows("--dbs=memtable", "--checkpoint_between_tests", "--latency_ops=0")
        self.assertEqual([row["round"] for row in found], ["1 cold", "1 cold"])
        self.assertEqual(found[1]["pool_hits"], 0)

    def test_pool_off_means_that_every_chunk_is_fresh(self):
        found = rows("--dbs=memtable", "--tests=dataset_write_random", "--generations=2", "--pool_cap_bytes=0")
        self.assertTrue(all(row["pool_hits"] == 0 and row["fresh_chunks"] == row["pool_gets"] for row in found))

    def test_pool_off_holds_inside_rocksdb_and_kv_too(self):
        for engine in ["rocksdb:strongbin", "kv"]:
            with self.subTest(engine=engine):
                common = [f"--dbs={engine}", "--tests=dataset_write_random", "--generations=3", "--latency_ops=0"]
                off = rows(*common, "--pool_cap_bytes=0")
                self.assertTrue(all(row["pool_hits"] == 0 and row["fresh_chunks_key"] > 0 for row in off))
                on = rows(*common)
                self.assertEqual([row["fresh_chunks_key"] for row in on[1:]], [0, 0])
                self.assertGreater(on[0]["fresh_chunk_bytes_key"], 3000 * 16)

    def test_durable_runs_on_what_has_a_log(self):
        for engine in ["rocksdb:skip_list", "kv"]:
            found = rows(f"--dbs={engine}", "--tests=dataset_write_random", "--profile=durable", "--keys=300")
            self.assertEqual(found[0]["drained_keys"], 300)

    def test_what_has_no_log_is_no_default_of_durable(self):
        found = rows("--tests=dataset_write_random", "--profile=durable", "--keys=300")
        self.assertEqual({row["engine"] for row in found}, {"rocksdb:strongbin", "rocksdb:skip_list"})


class LifeTest(unittest.TestCase):
    def test_open_loop_is_labelled_and_has_both_latencies(self):
        row = rows("--dbs=none", "--tests=dataset_write_random", "--rate=1000000")[0]
        self.assertEqual(row["loop"], "open")
        self.assertIsNotNone(row["intended_p99_ns"])
        self.assertIsNotNone(row["service_p99_ns"])
        row = rows("--dbs=none", "--tests=dataset_write_random")[0]
        self.assertEqual((row["loop"], row["intended_p99_ns"]), ("closed", None))

    def test_what_cannot_finish_in_time_says_what_it_did(self):
        row = rows("--dbs=none", "--tests=dataset_write_random", "--rate=100", "--max_seconds=0.3")[0]
        self.assertEqual(row["finished"], "no")
        self.assertIn("--max_seconds=0.3", row["note"])
        self.assertLess(row["operations"], row["planned_operations"])

    def test_ctrl_c_prints_what_was_measured_and_leaves_no_files(self):
        with tempfile.TemporaryDirectory() as directory:
            process = subprocess.Popen(
                [DBBENCH, "--dbs=rocksdb:skip_list", "--tests=dataset_write_random", "--rate=200", "--keys=100000", "--batchsize=10",
                 "--format=json", f"--db={directory}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 60
            while not list(pathlib.Path(directory).glob("*/db/CURRENT")) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
            report = json.loads(output)
            self.assertEqual(process.returncode, 130)
            self.assertTrue(report["interrupted"])
            self.assertEqual(report["rows"][0]["finished"], "no")
            self.assertIn("interrupted", report["rows"][0]["note"])
            self.assertGreater(report["rows"][0]["operations"], 0)
            self.assertEqual(report["rows"][0]["drained_keys"], report["rows"][0]["operations"])
            self.assertEqual(os.listdir(directory), [])

    def test_no_progress_line_without_a_terminal(self):
        self.assertEqual(run("--keys=200000", "--dbs=none", "--rate=400000").stderr, "")

    def test_stats_interval_writes_lines(self):
        result = run("--keys=1000", "--dbs=memtable", "--tests=dataset_write_random", "--rate=1000", "--batchsize=10", "--stats_interval=0.2")
        self.assertRegex(result.stderr, r"operations, .* op/s, resident .* pool idle")


if __name__ == "__main__":
    unittest.main()
