// The reader of statistics pages on hostile bytes: a refusal, or numbers and names that can be printed.
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "strongbin/stats/export.h"
#include "strongbin/stats/page_layout.h"
#include "strongbin/stats/page_reader.h"
#include "strongbin/tests/fuzz/folder_in_memory.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tests/stats/page_test_util.h"

namespace strongbin {
namespace {

bool IsPrintable(std::string_view text) {
  for (const char c : text) {
    if (c != '\n' && (c < ' ' || c > '~')) return false;
  }
  return true;
}

void Show(const PageSnapshot& snapshot) {
  std::set<std::string> names;
  PrometheusPage prometheus;
  std::string text = ToText(snapshot.tables) + ToText(snapshot.rocksdb) + ToJson(snapshot.tables) + snapshot.program;
  for (const PageSnapshot::Pool& pool : snapshot.pools) {
    FUZZ_REQUIRE(names.insert(pool.name).second, "two pools of one name");
    text += ToText(pool.stats, {{"pool", pool.name}}) + ToJson(pool.stats, {{"pool", pool.name}});
    prometheus.Add(pool.stats, {{"pool", pool.name}});
  }
  prometheus.Add(SumOfPools(snapshot), {{"pool", "sum"}});
  FUZZ_REQUIRE(IsPrintable(text + prometheus.ToString()), "a byte that is no printable character");
}

void Run(FuzzInput input) {
  static const FolderInMemory folder;
  static const std::string path = folder.path() + "/page";
  // Pieces laid over a good page, each at some place, and the whole cut somewhere; or a file of nothing but the input.
  const auto page = NumberedPage(1);
  std::string bytes(reinterpret_cast<const char*>(page.get()), sizeof(*page));
  if (input.Byte() < 0x20) {
    bytes = input.Rest();
  } else {
    if (input.Byte() == 0) bytes.resize(size_t{input.Byte()} * 256 + input.Byte());
    while (!input.AtEnd()) {
      const size_t place = size_t{input.Byte()} * 256 + input.Byte();
      const std::string_view piece = input.Bytes(1 + input.Below(32));
      for (size_t i = 0; i < piece.size() && place + i < bytes.size(); ++i) bytes[place + i] = piece[i];
    }
  }
  FolderInMemory::Write(path, bytes);
  PageSnapshot snapshot;
  std::string why;
  if (ReadStatsPage(path, &snapshot, &why)) {
    FUZZ_REQUIRE(bytes.size() >= sizeof(*page), "read from a file that is cut short");
    uint64_t pid;
    std::memcpy(&pid, bytes.data() + offsetof(stats_internal::PageHeader, pid), sizeof(pid));
    FUZZ_REQUIRE(snapshot.pid == pid, "not the number in the file");
    Show(snapshot);
  } else {
    FUZZ_REQUIRE(why.size() > path.size() && IsPrintable(why), "a refusal without a reason");
  }
}

}  // namespace
}  // namespace strongbin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::Run({data, size});
  return 0;
}
