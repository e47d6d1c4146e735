# What the scripts share. To be sourced with `set -euo pipefail` in force.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
# Compilers and test runs of the size of a small machine; memory is what a parallel build runs out of first.
: "${STRONGBIN_JOBS:=2}"

say() { printf '%s\n' "$*"; }

# fail WHAT: ends the script with a sentence that says what to do.
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# configure PRESET [CMAKE_ARGUMENT ...]: quiet when all is well. A variable that no CMakeLists.txt reads is an error: the run
# would not test what its author believes.
configure() {
  local preset="$1" log="$root/build/$1-configure.log"
  mkdir -p "$root/build"
  (cd "$root" && cmake --preset "$@") >"$log" 2>&1 || {
    cat "$log" >&2
    fail "configuring preset '$preset' failed; the messages are above and in $log"
  }
  if grep -q "Manually-specified variables were not used by the project" "$log"; then
    cat "$log" >&2
    fail "preset '$preset' sets variables that the project does not read"
  fi
}

# build PRESET [CMAKE_BUILD_ARGUMENT ...]: shows ninja's progress.
build() {
  local preset="$1"
  (cd "$root" && cmake --build --preset "$preset" --parallel "$STRONGBIN_JOBS" "${@:2}") ||
    fail "building preset '$preset' failed; the compiler's messages are above"
}

# The record of the last test run of a preset.
test_record() { printf '%s' "$root/build/$1/tests.xml"; }

# run_ctest PRESET: runs all tests; the answer is ctest's. The record is of this run or absent.  One
# test more than processors at a time, since some wait.
run_ctest() {
  rm -f "$(test_record "$1")"
  (cd "$root" && ctest --preset "$1" --parallel "$((STRONGBIN_JOBS + 1))" --no-tests=error --output-junit "$(test_record "$1")")
}

# count_tests PRESET ...: the closing line over the records of these presets: "N passed, N failed[, N skipped]".
count_tests() {
  local preset record tests=0 failed=0 skipped=0
  attribute() { grep -m1 -oP "\\b$1=\"\\K[0-9]+" "$record" || echo 0; }
  for preset in "$@"; do
    record="$(test_record "$preset")"
    [[ -f "$record" ]] || continue
    tests=$((tests + $(attribute tests)))
    failed=$((failed + $(attribute failures)))
    skipped=$((skipped + $(attribute skipped) + $(attribute disabled)))
  done
  printf '%d passed, %d failed' $((tests - failed - skipped)) "$failed"
  if ((skipped > 0)); then printf ', %d skipped' "$skipped"; fi
  printf '\n'
}
