// Torn and damaged logs: nothing that was promised is lost in silence, and nothing that was not written appears.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "strongbin/tests/tools/kv/store_fixture.h"
#include "strongbin/tools/kv/directory.h"
#include "strongbin/tools/kv/log_format.h"
#include "strongbin/tools/kv/log_reader.h"
#include "strongbin/tools/kv/log_writer.h"

namespace strongbin::kv {
namespace {

using ::testing::HasSubstr;

class LogTest : public StoreTest {
 protected:
  LogTest() { std::filesystem::create_directories(options_.directory); }

  std::string Path(uint64_t number) const { return LogPath(options_.directory, number); }
  std::string ReadBytes(uint64_t number) const {
    std::ifstream file(Path(number), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteBytes(uint64_t number, const std::string& bytes) const {
    std::ofstream(Path(number), std::ios::binary | std::ios::trunc) << bytes;
  }
  // A log with one batch of one key for each value, the keys numbered from `first` on.
  void MakeLog(uint64_t number, Sequence first, const std::vector<std::string>& values) const {
    std::unique_ptr<LogWriter> writer;
    ASSERT_TRUE(LogWriter::Create(options_.directory, number, &writer).ok());
    for (const std::string& value : values) {
      Batch batch;
      batch.Put("key" + std::to_string(first), value);
      ASSERT_TRUE(writer->Append(first++, batch.count(), batch.payload()).ok());
    }
    ASSERT_TRUE(writer->Sync().ok());
  }
  size_t RecordsIn(uint64_t number) const {
    LogContents contents;
    const rocksdb::Status status = ReadLog(options_.directory, number, &contents);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return contents.records.size();
  }
};

TEST_F(LogTest, ALogCutAtAnyByteKeepsItsWholeRecords) {
  MakeLog(1, 1, {"one", "", "three"});
  const std::string whole = ReadBytes(1);
  std::vector<size_t> ends = {sizeof(LogHeader)};
  for (const std::string value : {"one", "", "three"}) {
    ends.push_back(ends.back() + sizeof(RecordHeader) + 12 + 4 + value.size());
  }
  ASSERT_EQ(ends.back(), whole.size());
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    WriteBytes(1, whole.substr(0, bytes));
    size_t expected = 0;
    while (expected + 1 < ends.size() && ends[expected + 1] <= bytes) ++expected;
    ASSERT_EQ(RecordsIn(1), expected) << "cut at " << bytes;
  }
}

TEST_F(LogTest, AHeaderIsNotWholeWhereOnlyZerosAreMissing) {
  LogHeader header = {kLogMagic, 1, 0, 0};
  do {
    ++header.salt;
    header.checksum = ChecksumOf(header);
  } while (header.checksum >> 56 != 0);
  const std::string whole(reinterpret_cast<const char*>(&header), sizeof(header));
  WriteBytes(1, whole.substr(0, whole.size() - 1));
  LogContents contents;
  ASSERT_TRUE(ReadLog(options_.directory, 1, &contents).ok());
  EXPECT_EQ(contents.torn_bytes, whole.size() - 1);
}

TEST_F(LogTest, ATailOfGarbageOrZerosIsCut) {
  MakeLog(1, 1, {"one", "two"});
  const std::string whole = ReadBytes(1);
  std::mt19937 random(1);
  for (const size_t bytes : {size_t{1}, size_t{31}, size_t{32}, size_t{5000}}) {
    std::string garbage(bytes, '\0');
    WriteBytes(1, whole + garbage);
    EXPECT_EQ(RecordsIn(1), 2u);
    for (char& byte : garbage) byte = static_cast<char>(random());
    WriteBytes(1, whole + garbage);
    EXPECT_EQ(RecordsIn(1), 2u);
  }
}

TEST_F(LogTest, ABitThatFlipsBeforeTheLastRecordIsAnErrorThatNamesThePlace) {
  MakeLog(1, 1, {"one", "two", "three"});
  const std::string whole = ReadBytes(1);
  const size_t last = whole.size() - sizeof(RecordHeader) - 12 - 4 - 5;
  for (size_t byte = 0; byte < last; ++byte) {
    std::string flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 1 << byte % 8);
    WriteBytes(1, flipped);
    LogContents contents;
    const rocksdb::Status status = ReadLog(options_.directory, 1, &contents);
    ASSERT_TRUE(status.IsCorruption()) << "byte " << byte << ": " << status.ToString();
    EXPECT_TRUE(contents.records.empty());
    EXPECT_THAT(status.ToString(), HasSubstr(Path(1)));
    EXPECT_THAT(status.ToString(), HasSubstr("damaged at byte"));
    std::unique_ptr<Store> store;
    if (byte % 16 == 0) {
      EXPECT_TRUE(Store::Open(options_, &store).IsCorruption());
    }
  }
}

TEST_F(LogTest, ADamagedLogIsLeftAsItIs) {
  MakeLog(1, 1, {"one", "two", "three"});
  std::string bytes = ReadBytes(1);
  bytes[sizeof(LogHeader) + 3] ^= 1;
  WriteBytes(1, bytes);
  EXPECT_TRUE(Reopen().IsCorruption());
  EXPECT_EQ(ReadBytes(1), bytes);
}

TEST_F(LogTest, AValueThatContainsALogIsNoRecord) {
  MakeLog(2, 1, {"inner", "inner"});
  const std::string inner = ReadBytes(2);
  std::filesystem::remove(Path(2));
  MakeLog(1, 1, {"outer", inner});
  const std::string whole = ReadBytes(1);
  // Torn inside the value, behind the records that it contains.
  WriteBytes(1, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(RecordsIn(1), 1u);
}

TEST_F(LogTest, RecordsOfAnotherLogAreNotTakenOver) {
  MakeLog(1, 1, {"one"});
  MakeLog(2, 2, {"two"});
  const std::string other = ReadBytes(2);
  WriteBytes(1, ReadBytes(1) + other.substr(sizeof(LogHeader)));
  EXPECT_EQ(RecordsIn(1), 1u);
  WriteBytes(1, other);  // a whole log under another's name
  LogContents contents;
  EXPECT_TRUE(ReadLog(options_.directory, 1, &contents).IsCorruption());
}

TEST_F(LogTest, HostileRecordsWithRightChecksumsAreRefused) {
  const auto payload = [](uint32_t key_bytes, uint32_t value_bytes, uint32_t kind, const std::string& rest) {
    std::string bytes;
    for (const uint32_t word : {key_bytes, value_bytes, kind}) bytes.append(reinterpret_cast<const char*>(&word), 4);
    return bytes + rest;
  };
  const std::vector<std::pair<std::string, size_t>> hostile = {
      {"short", 1},
      {payload(0xffffffff, 0, 1, "a"), 1},
      {payload(1, 0xffffffff, 1, "a"), 1},
      {payload(0xffffffff, 0xffffffff, 1, ""), 1},
      {payload(1, 0, 2, "a"), 1},
      {payload(1, 0, 1, "a"), 2},
      {payload(1, 0, 1, "a") + payload(1, 0, 1, "b"), 1},
      {"", 1},
  };
  for (size_t i = 0; i < hostile.size(); ++i) {
    std::unique_ptr<LogWriter> writer;
    std::filesystem::remove(Path(1));
    ASSERT_TRUE(LogWriter::Create(options_.directory, 1, &writer).ok());
    ASSERT_TRUE(writer->Append(1, hostile[i].second, hostile[i].first).ok());
    const rocksdb::Status status = Reopen();
    EXPECT_TRUE(status.IsCorruption()) << "record " << i << ": " << status.ToString();
  }
}

TEST_F(LogTest, LogsAreReplayedInOrderAndDeleted) {
  MakeLog(9, 1, {"a", "b"});
  MakeLog(10, 3, {"c"});
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Scan(), (Content{{"key1", "a"}, {"key2", "b"}, {"key3", "c"}}));
  std::vector<uint64_t> logs;
  ASSERT_TRUE(ListLogs(options_.directory, &logs).ok());
  EXPECT_EQ(logs, std::vector<uint64_t>{11});
}

TEST_F(LogTest, AGapBetweenLogsIsAnError) {
  MakeLog(1, 1, {"a"});
  MakeLog(3, 2, {"b"});
  EXPECT_TRUE(Reopen().IsCorruption());
  std::filesystem::rename(Path(3), Path(2));  // now its own header disagrees
  EXPECT_TRUE(Reopen().IsCorruption());
  std::filesystem::remove(Path(2));
  MakeLog(2, 5, {"b"});  // sequence numbers 2 to 4 are missing
  EXPECT_TRUE(Reopen().IsCorruption());
}

TEST_F(LogTest, OnlyTheLastLogMayBeTorn) {
  MakeLog(1, 1, {"a", "b"});
  const std::string whole = ReadBytes(1);
  WriteBytes(1, whole.substr(0, whole.size() - 1));
  MakeLog(2, 2, {"c"});
  EXPECT_TRUE(Reopen().IsCorruption());
  std::filesystem::remove(Path(2));
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Scan(), (Content{{"key1", "a"}}));
}

TEST_F(LogTest, ALogThatWasOnlyBegunIsEmpty) {
  MakeLog(1, 1, {"a"});
  WriteBytes(2, "");
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Scan(), (Content{{"key1", "a"}}));
}

TEST_F(LogTest, ReplayingFlushedLogsAgainChangesNothing) {
  MakeLog(1, 1, {"a", "b"});
  const std::string bytes = ReadBytes(1);
  ASSERT_TRUE(Reopen().ok());
  store_.reset();
  // As after a crash between the flush and the deletion.
  std::vector<uint64_t> logs;
  ASSERT_TRUE(ListLogs(options_.directory, &logs).ok());
  ASSERT_TRUE(DeleteLogs(options_.directory, logs).ok());
  WriteBytes(1, bytes);
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Scan(), (Content{{"key1", "a"}, {"key2", "b"}}));
}

}  // namespace
}  // namespace strongbin::kv
