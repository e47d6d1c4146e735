"""Prometheus' own checker accepts the golden pages. Skipped where promtool (Debian: prometheus) is not installed."""

import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77  # what CMake takes as the exit status of a skipped test

promtool = shutil.which("promtool")
if promtool is None:
    print("skipped: promtool is not installed")
    sys.exit(SKIPPED)

failed = False
for page in sorted(pathlib.Path(__file__).resolve().parents[1].rglob("testdata/*.prom")):
    result = subprocess.run([promtool, "check", "metrics"], input=page.read_bytes(), capture_output=True, check=False)
    messages = (result.stdout + result.stderr).decode()
    print(f"{page.name}: exit status {result.returncode}\n{messages}")
    failed |= result.returncode != 0
sys.exit(1 if failed else 0)
