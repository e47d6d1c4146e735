// The program of the differential tests: gtest, or the process of one round.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/rocksdb/differential_arguments.h"
#include "strongbin/tests/memtable/rocksdb/differential_faults.h"
#include "strongbin/tests/memtable/rocksdb/differential_supervisor.h"
#include "strongbin/tests/memtable/rocksdb/differential_text.h"

namespace strongbin::differential {

namespace {

Arguments& MutableArguments() {
  static Arguments arguments;
  return arguments;
}

bool TakeNumber(std::string_view text, uint64_t* number) {
  const std::optional<uint64_t> decoded = DecodeNumber(text);
  if (decoded) *number = *decoded;
  return decoded.has_value();
}

bool TakeArgument(std::string_view word, Arguments* arguments) {
  const std::string_view name = word.substr(0, word.find('='));
  if (name.size() == word.size()) return false;
  const std::string_view value = word.substr(name.size() + 1);
  if (name == "--steps") return TakeNumber(value, &arguments->step_count);
  if (name == "--seed") return TakeNumber(value, &arguments->seed);
  if (name == "--factory") arguments->factories.actual = value;
  if (name == "--replay") arguments->replay_file = value;
  return name == "--factory" || name == "--replay";
}

}  // namespace

const Arguments& GetArguments() { return MutableArguments(); }

}  // namespace strongbin::differential

int main(int argc, char** argv) {
  using namespace strongbin::differential;
  RegisterFaultyFactories();
  if (IsRoundProcess(argc, argv)) return RunRoundProcess(argv);
  testing::InitGoogleTest(&argc, argv);
  if (const char* seed = std::getenv("STRONGBIN_TEST_SEED")) TakeNumber(seed, &MutableArguments().seed);
  for (int i = 1; i < argc; ++i) {
    if (TakeArgument(argv[i], &MutableArguments())) continue;
    std::fprintf(stderr, "%s is not one of --steps=N --seed=S --factory=NAME --replay=FILE\n", argv[i]);
    return EXIT_FAILURE;
  }
  return RUN_ALL_TESTS();
}
