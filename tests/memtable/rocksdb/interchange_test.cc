// Files go both ways between databases with and without this library.
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <rocksdb/utilities/options_util.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kFamilies = {rdb::kDefaultColumnFamilyName, "second"};

class InterchangeTest : public DbTest {
 protected:
  // Leaves entries of each kind in table files, newer versions of them in the log.
  static void Fill(Rep rep, const std::string& path) {
    rdb::Options options = SmallOptions(rep);
    options.create_missing_column_families = true;
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path, kFamilies)));
    for (uint64_t round = 1; round <= 2; ++round) {
      for (size_t family = 0; family < kFamilies.size(); ++family) {
        for (uint64_t i = 0; i < 100; ++i) {
          const std::string key = NumberKey(Scramble(i), 20);
          const std::string value = kFamilies[family] + std::to_string(round * i);
          rdb::ColumnFamilyHandle* handle = db.family(family);
          const rdb::Status status = i % 3 == 0   ? db->Put({}, handle, key, value)
                                     : i % 3 == 1 ? db->Merge({}, handle, key, value)
                                     : round == 1 ? db->Put({}, handle, key, value)
                                                  : db->Delete({}, handle, key);
          ASSERT_TRUE(Ok(status));
        }
        const std::string first = NumberKey(0, 20), last = NumberKey(UINT64_MAX / 8, 20);
        const rdb::Status end =
            round == 1 ? db->Flush({}, db.family(family)) : db->DeleteRange({}, db.family(family), first, last);
        ASSERT_TRUE(Ok(end));
      }
    }
  }
  static History Content(Rep rep, const std::string& path) {
    History history;
    TestDb db;
    history.Add("open", db.Open(SmallOptions(rep), path, kFamilies));
    for (size_t family = 0; family < kFamilies.size() && db.get() != nullptr; ++family) {
      ScanBothWays(db.get(), {}, db.family(family), &history);
    }
    return history;
  }
};

TEST_F(InterchangeTest, FilesAndLogOfEitherAreReadByTheOther) {
  History contents[2][2];
  for (const Rep writer : kBothReps) {
    for (const Rep reader : kBothReps) {
      const std::string path = Path("db");
      std::filesystem::remove_all(path);
      Fill(writer, path);
      contents[static_cast<size_t>(writer)][static_cast<size_t>(reader)] = Content(reader, path);
    }
  }
  EXPECT_GT(contents[0][0].lines().size(), 100u);
  EXPECT_TRUE(SameHistory(contents[0][0], contents[0][1])) << "written by the skip list, read by strongbin";
  EXPECT_TRUE(SameHistory(contents[0][0], contents[1][0])) << "written by strongbin, read by the skip list";
  EXPECT_TRUE(SameHistory(contents[0][0], contents[1][1])) << "written and read by strongbin";
}

TEST_F(InterchangeTest, MemtablesCanBeChangedAtEveryOpen) {
  History expected, actual;
  for (const bool change : {false, true}) {
    const std::string path = Path("db");
    std::filesystem::remove_all(path);
    for (int round = 0; round < 4; ++round) {
      Fill(change && round % 2 == 0 ? Rep::kStrongbin : Rep::kSkipList, path);
    }
    (change ? actual : expected) = Content(change ? Rep::kStrongbin : Rep::kSkipList, path);
  }
  EXPECT_TRUE(SameHistory(expected, actual));
}

// The programs of Debian's rocksdb-tools, which know nothing of this library.
class ToolTest : public InterchangeTest {
 protected:
  void SetUp() override {
    if (Run("command -v ldb", "").status != 0) GTEST_SKIP() << "there is no ldb (Debian's rocksdb-tools)";
  }

  struct Result {
    int status = -1;
    std::string output;
  };
  static Result Run(const std::string& command, const std::string& preloaded) {
    // A library with AddressSanitizer wants its runtime before it.
    const std::string runtime = LoadedLibrary("libasan.so");
    std::string prefix;
    if (!preloaded.empty()) prefix = "ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD='" + runtime + " " + preloaded + "' ";
    FILE* const pipe = popen(("(" + prefix + command + ") 2>&1").c_str(), "r");
    if (pipe == nullptr) return {};
    Result result;
    char buffer[4096];
    for (size_t bytes = 0; (bytes = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) result.output.append(buffer, bytes);
    const int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  static std::string Library() { return LoadedLibrary("libstrongbin_rocksdb.so"); }

  static std::string MemtableOfOptionsFile(const std::string& path) {
    rdb::DBOptions options;
    std::vector<rdb::ColumnFamilyDescriptor> families;
    EXPECT_TRUE(Ok(rdb::LoadLatestOptions({}, path, &options, &families)));
    return families.empty() ? "" : families[0].options.memtable_factory->Name();
  }

  // The path of a library of this process, or nothing.
  static std::string LoadedLibrary(const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/" + name) != std::string::npos) return line.substr(line.find('/'));
    }
    return {};
  }
};

TEST_F(ToolTest, LdbReadsADatabaseWithAndWithoutTheLibrary) {
  const std::string path = Path("db");
  Fill(Rep::kStrongbin, path);
  const std::string scan = "ldb --db='" + path + "' --column_family=second scan";
  const Result plain = Run(scan, "");
  EXPECT_EQ(plain.status, 0) << plain.output;
  EXPECT_GT(std::count(plain.output.begin(), plain.output.end(), '\n'), 10);
  EXPECT_THAT(plain.output, HasSubstr("second"));
  for (const std::string& preloaded : {std::string(), Library()}) {
    const Result loading = Run(scan + " --try_load_options", preloaded);
    EXPECT_EQ(loading.status, 0) << loading.output;
    EXPECT_EQ(loading.output, plain.output);
  }
}

TEST_F(ToolTest, LdbKeepsTheMemtableOfTheOptionsFileWhereTheLibraryIsPreloaded) {
  const std::string path = Path("db");
  Fill(Rep::kStrongbin, path);
  // Opening to write makes a new OPTIONS file. Without the library ldb takes the skip list and says nothing.
  const std::string put = "ldb --db='" + path + "' --try_load_options put key ";
  EXPECT_EQ(Run(put + "with", Library()).status, 0);
  EXPECT_EQ(MemtableOfOptionsFile(path), "strongbin");
  EXPECT_EQ(Run(put + "without", "").status, 0);
  EXPECT_EQ(MemtableOfOptionsFile(path), "SkipListFactory");
  EXPECT_THAT(Run("ldb --db='" + path + "' get key", "").output, HasSubstr("without"));
}

}  // namespace
}  // namespace strongbin
