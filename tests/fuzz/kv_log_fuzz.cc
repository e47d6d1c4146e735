// The reader of write-ahead logs on hostile bytes. It returns the records that lie whole and without a gap behind the
// header, byte for byte, or Corruption where a whole one follows a gap; never one that nobody wrote.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tests/fuzz/folder_in_memory.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tools/kv/batch.h"
#include "strongbin/tools/kv/directory.h"
#include "strongbin/tools/kv/log_format.h"
#include "strongbin/tools/kv/log_reader.h"
#include "strongbin/tools/kv/log_writer.h"

namespace strongbin::kv {
namespace {

constexpr uint64_t kNumber = 7;
constexpr size_t kEntryHeaderBytes = 12;

// A record that lies whole in the file.
struct Placed {
  size_t begin;
  Sequence first;
  size_t count;
  std::string payload;

  size_t end() const { return begin + sizeof(RecordHeader) + payload.size(); }
};

class LogRun {
 public:
  LogRun(const uint8_t* data, size_t size) : input_(data, size) {}

  void Run() {
    const uint8_t style = input_.Byte();
    if (style < 0x20) {
      has_header_ = false;
      bytes_ = input_.Rest();
      return BeginsWithAHeader() ? void() : Check();
    }
    if (style < 0x60) {
      Forge();
      Check();
      return CutAround(/*has_gaps=*/true);
    }
    WriteLog();
    Check();
    style < 0xB0 ? CutAround(/*has_gaps=*/false) : Damage();
  }

 private:
  static const std::string& Folder() {
    static const FolderInMemory folder;
    return folder.path();
  }
  static const std::string& Path() {
    static const std::string path = LogPath(Folder(), kNumber);
    return path;
  }

  Batch SomeBatch() {
    Batch batch;
    for (size_t count = input_.Below(4); count > 0; --count) {
      const std::string_view key = input_.Bytes(input_.Below(12));
      input_.Below(4) == 0 ? batch.Delete(key) : batch.Put(key, input_.Bytes(input_.Below(80)));
    }
    return batch;
  }

  // Fuzzers see what is compared, and put headers together from it.
  bool BeginsWithAHeader() const {
    LogHeader header = {};
    std::memcpy(&header, bytes_.data(), std::min(bytes_.size(), sizeof(header)));
    return header.checksum == ChecksumOf(header);
  }

  // As the store does it.
  void WriteLog() {
    std::filesystem::remove(Path());
    std::unique_ptr<LogWriter> writer;
    Require(LogWriter::Create(Folder(), kNumber, &writer));
    size_t end = sizeof(LogHeader);
    Sequence next = 1 + input_.Byte();
    for (size_t records = input_.Below(12); records > 0; --records) {
      const Batch batch = SomeBatch();
      Require(writer->Append(next, batch.count(), batch.payload()));
      placed_.push_back({end, next, batch.count(), std::string(batch.payload())});
      end = placed_.back().end();
      next += batch.count();
    }
    bytes_ = FolderInMemory::Read(Path());
    FUZZ_REQUIRE(bytes_.size() == end, "a log of another length");
  }

  // As somebody would who knows the checksums: lengths, numbers and payloads that no store writes.
  void Forge() {
    LogHeader header = {kLogMagic, kNumber, input_.Byte(), 0};
    header.checksum = ChecksumOf(header);
    Append(header);
    while (!input_.AtEnd()) {
      const size_t style = input_.Below(8);
      if (style == 0) {
        bytes_ += input_.Bytes(input_.Below(64));
        continue;
      }
      const std::string payload(style < 4 ? SomeBatch().payload() : input_.Bytes(input_.Below(64)));
      const Placed record = {bytes_.size(), input_.Byte() * uint64_t{0x0101010101010101}, input_.Byte() % 5u, payload};
      RecordHeader forged = {record.first, ChecksumOf(payload), static_cast<uint32_t>(payload.size()),
                             static_cast<uint32_t>(record.count), 0};
      if (style == 5) forged.payload_bytes = input_.Byte() * 0x01010101u;
      if (style == 6) forged.payload_checksum ^= 1;
      forged.checksum = ChecksumOf(forged, header.salt, style == 7 ? 0 : bytes_.size());
      Append(forged);
      bytes_ += payload;
      if (style < 6 && forged.payload_bytes == payload.size()) placed_.push_back(record);
    }
  }

  // Calls change() and looks which records still lie whole where they were. Of what lies behind another header nothing
  // is known.
  template <class Change>
  void Alter(const std::string& whole, const std::vector<Placed>& all, const Change& change) {
    change();
    const auto is_whole = [&](size_t begin, size_t end) {
      return end <= bytes_.size() && std::memcmp(&bytes_[begin], &whole[begin], end - begin) == 0;
    };
    has_header_ = is_whole(0, sizeof(LogHeader));
    if (!has_header_ && BeginsWithAHeader()) return;
    placed_ = all;
    std::erase_if(placed_, [&](const Placed& record) { return !is_whole(record.begin, record.end()); });
    Check();
  }

  void CutAround(bool has_gaps) {
    const std::string whole = bytes_;
    const std::vector<Placed> all = placed_;
    std::vector<size_t> cuts = {0, 1, sizeof(LogHeader) - 1, sizeof(LogHeader)};
    for (const Placed& record : all) cuts.insert(cuts.end(), {record.end() - 1, record.end(), record.end() + 1});
    while (!input_.AtEnd()) cuts.push_back(Place());
    for (const size_t cut : cuts) {
      if (cut > whole.size()) continue;
      Alter(whole, all, [&] { bytes_ = whole.substr(0, cut); });
      FUZZ_REQUIRE(has_gaps || !corrupt_, "a log that was only cut is taken for damaged");
    }
  }

  // Bytes that have changed at some places, cuts, and remains of something else at the end.
  void Damage() {
    const std::string whole = bytes_;
    const std::vector<Placed> all = placed_;
    while (!input_.AtEnd()) {
      Alter(whole, all, [&] {
        const size_t kind = input_.Below(8);
        if (kind == 1) {
          bytes_ += input_.Bytes(input_.Below(64));
        } else if (const size_t place = Place(); place >= bytes_.size()) {
          return;
        } else if (kind == 0) {
          bytes_.resize(place);
        } else {
          bytes_[place] = static_cast<char>(bytes_[place] ^ input_.Byte());
        }
      });
    }
  }
  size_t Place() { return input_.Byte() * size_t{8} + input_.Below(8); }

  void Check() {
    FolderInMemory::Write(Path(), bytes_);
    LogContents contents;
    const rocksdb::Status status = ReadLog(Folder(), kNumber, &contents);
    size_t end = has_header_ ? sizeof(LogHeader) : 0;
    size_t whole = 0;
    while (has_header_ && whole < placed_.size() && placed_[whole].begin == end) end = placed_[whole++].end();
    corrupt_ = has_header_ ? whole < placed_.size() : bytes_.size() > sizeof(LogHeader);
    if (corrupt_) {
      FUZZ_REQUIRE(status.IsCorruption(), status.ToString());
      FUZZ_REQUIRE(status.ToString().find(Path()) != std::string::npos, status.ToString());
      FUZZ_REQUIRE(contents.records.empty(), "records of a damaged log");
      return;
    }
    Require(status);
    FUZZ_REQUIRE(contents.records.size() == whole, std::to_string(whole) + " records lie whole");
    FUZZ_REQUIRE(contents.torn_bytes == bytes_.size() - end, "torn bytes");
    for (size_t i = 0; i < whole; ++i) {
      const LogRecord& record = contents.records[i];
      FUZZ_REQUIRE(record.first == placed_[i].first && record.count == placed_[i].count, "not the numbers written");
      FUZZ_REQUIRE(record.payload == placed_[i].payload, "not the bytes written");
      Decode(record);
    }
  }

  // The entries lie one behind the other and fill the payload.
  static void Decode(const LogRecord& record) {
    std::vector<Write> writes;
    if (!DecodeBatch(record.payload, record.count, record.first, &writes)) return;
    FUZZ_REQUIRE(writes.size() == record.count, "not as many entries as the record says");
    const char* at = record.payload.data();
    for (size_t i = 0; i < writes.size(); ++i) {
      at += kEntryHeaderBytes;
      FUZZ_REQUIRE(writes[i].key.data() == at && writes[i].value.data() == at + writes[i].key.size(), "elsewhere");
      FUZZ_REQUIRE(writes[i].sequence == record.first + i, "another sequence number");
      at += writes[i].key.size() + writes[i].value.size();
    }
    FUZZ_REQUIRE(at == record.payload.data() + record.payload.size(), "bytes of no entry");
  }

  template <class T>
  void Append(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static void Require(const rocksdb::Status& status) { FUZZ_REQUIRE(status.ok(), status.ToString()); }

  FuzzInput input_;
  std::string bytes_;           // of the file
  std::vector<Placed> placed_;  // what lies whole in it, in order
  bool has_header_ = true;
  bool corrupt_ = false;  // by the model
};

}  // namespace
}  // namespace strongbin::kv

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::kv::LogRun(data, size).Run();
  return 0;
}
