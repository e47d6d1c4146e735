// A key-value store around the memtable, as small as it can be and still be one: a write-ahead log, the memtable,
// sorted files, recovery. docs/embedding.md walks through it.
//
// usage: tiny_store FOLDER put KEY VALUE | delete KEY | get KEY | fill COUNT | stats
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/export.h"

namespace fs = std::filesystem;

// ---- Records: the same bytes in the log and in sorted files ----

struct RecordHead {
  uint64_t checksum;  // of all that follows
  uint64_t sequence;
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint64_t kind;
};

struct Record {
  uint64_t sequence = 0;
  strongbin::EntryKind kind = strongbin::EntryKind::kPut;
  std::string_view key;
  std::string_view value;
};

uint64_t ChecksumOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string Encode(const Record& record) {
  RecordHead head = {0, record.sequence, static_cast<uint32_t>(record.key.size()),
                     static_cast<uint32_t>(record.value.size()), static_cast<uint64_t>(record.kind)};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes.append(record.key).append(record.value);
  head.checksum = ChecksumOf(std::string_view(bytes).substr(sizeof(head.checksum)));
  std::memcpy(bytes.data(), &head.checksum, sizeof(head.checksum));
  return bytes;
}

// The record at the start of `bytes`, which loses it. Nothing at the end, and where a crash has cut the last one short.
std::optional<Record> Decode(std::string_view* bytes) {
  RecordHead head;
  if (bytes->size() < sizeof(head)) return {};
  std::memcpy(&head, bytes->data(), sizeof(head));
  const uint64_t record_bytes = sizeof(head) + uint64_t{head.key_bytes} + head.value_bytes;
  if (bytes->size() < record_bytes) return {};
  if (ChecksumOf(bytes->substr(sizeof(head.checksum), record_bytes - sizeof(head.checksum))) != head.checksum)
    return {};
  const Record record = {head.sequence, static_cast<strongbin::EntryKind>(head.kind),
                         bytes->substr(sizeof(head), head.key_bytes),
                         bytes->substr(sizeof(head) + head.key_bytes, head.value_bytes)};
  bytes->remove_prefix(record_bytes);
  return record;
}

// ---- Files ----

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class FileWriter {
 public:
  FileWriter(const fs::path& path, const char* mode) : file_(std::fopen(path.c_str(), mode)) {}
  ~FileWriter() {
    if (file_ != nullptr) std::fclose(file_);
  }
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  bool Append(std::string_view bytes) {
    return file_ != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
  }
  bool Sync() { return file_ != nullptr && std::fflush(file_) == 0 && fsync(fileno(file_)) == 0; }

 private:
  std::FILE* const file_;
};

// ---- The store ----

// One thread at a time; a store for many threads needs a lock around the log, not around the table.
class TinyStore {
 public:
  explicit TinyStore(fs::path folder, size_t memtable_bytes = size_t{1} << 20)
      : folder_(std::move(folder)),
        table_({.pool = &pool_, .freeze_bytes = memtable_bytes, .concurrent_writers = false}) {}

  bool Open() {
    fs::create_directories(folder_);
    for (int number = 1; fs::exists(SortedFile(number)); ++number) {
      AddSortedFile(ReadAll(SortedFile(number)));
    }
    // What was written and never flushed. The sequence numbers are those of the log, so a record that was flushed
    // just before the crash comes back as the same version.
    const std::string log = ReadAll(LogFile());
    std::string_view rest = log;
    while (const auto record = Decode(&rest)) {
      if (!table_
               .Append({.key = record->key, .sequence = record->sequence, .value = record->value, .kind = record->kind})
               .ok())
        return false;
      last_sequence_ = std::max(last_sequence_, record->sequence);
    }
    if (!rest.empty()) fs::resize_file(LogFile(), log.size() - rest.size());  // cut off what the crash left
    log_.emplace(LogFile(), "ab");
    return true;
  }

  bool Put(std::string_view key, std::string_view value) { return Write(key, value, strongbin::EntryKind::kPut); }
  bool Delete(std::string_view key) { return Write(key, {}, strongbin::EntryKind::kDelete); }

  std::optional<std::string> Get(std::string_view key) const {
    {
      // For one thread it would go without; with more, the pin keeps a flush from emptying the table under a reader.
      const strongbin::ReadPin pin = table_.Pin();
      const strongbin::LookupResult found = table_.Get(key);
      if (found.found()) return Shown(found.kind, found.value);
    }
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
      const auto entry = file->index.find(key);
      if (entry != file->index.end()) return Shown(entry->second.kind, entry->second.value);
    }
    return {};
  }

  // Writes the table to a sorted file and empties it. The old files stay: merging them is another story.
  bool Flush() {
    table_.Freeze();
    const fs::path path = SortedFile(static_cast<int>(files_.size()) + 1);
    const fs::path unfinished = path.string() + ".tmp";
    {
      FileWriter file(unfinished, "wb");
      strongbin::MemtableIterator it = table_.NewIterator();  // the newest version of each key, tombstones included
      for (it.SeekToFirst(); it.Valid(); it.Next()) {
        if (!file.Append(Encode({it.sequence(), it.kind(), it.key(), it.value()}))) return false;
      }
      if (!it.status().ok() || !file.Sync()) return false;
    }
    fs::rename(unfinished, path);  // from here on the file holds what the log holds
    AddSortedFile(ReadAll(path));
    log_.emplace(LogFile(), "wb");
    return table_.ResetWarm().ok();  // the chunks go to the pool, and the next entries into them
  }

  std::string Stats() const {
    return strongbin::ToText(table_.Stats(), {{"table", "active"}}) +
           strongbin::ToText(pool_.Stats(), {{"pool", "store"}});
  }

 private:
  struct SortedRecords {
    std::string bytes;
    std::map<std::string_view, Record> index;  // views of `bytes`
  };

  fs::path LogFile() const { return folder_ / "log"; }
  fs::path SortedFile(int number) const { return folder_ / ("sorted." + std::to_string(number)); }

  static std::optional<std::string> Shown(strongbin::EntryKind kind, std::string_view value) {
    if (kind == strongbin::EntryKind::kDelete) return {};
    return std::string(value);
  }

  bool Write(std::string_view key, std::string_view value, strongbin::EntryKind kind) {
    const Record record = {++last_sequence_, kind, key, value};        // used up even if something fails below
    if (!log_->Append(Encode(record)) || !log_->Sync()) return false;  // first the log, then the table
    if (!table_.Append({.key = key, .sequence = record.sequence, .value = value, .kind = kind}).ok()) return false;
    return !table_.ShouldFreeze() || Flush();
  }

  void AddSortedFile(std::string bytes) {
    SortedRecords& file = files_.emplace_back();
    file.bytes = std::move(bytes);
    std::string_view rest = file.bytes;
    while (const auto record = Decode(&rest)) {
      file.index.emplace_hint(file.index.end(), record->key, *record);
      last_sequence_ = std::max(last_sequence_, record->sequence);
    }
  }

  const fs::path folder_;
  strongbin::ChunkPool pool_;  // before the table: it must outlive it
  strongbin::AppendOnlyMemtable table_;
  std::optional<FileWriter> log_;
  std::deque<SortedRecords> files_;  // the oldest first; a deque, since views into its elements must stay
  uint64_t last_sequence_ = 0;
};

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto is = [&](std::string_view command, size_t count) { return words.size() == count && words[1] == command; };
  if (words.size() < 2) return 2;
  TinyStore store(words[0]);
  if (!store.Open()) return 1;
  if (is("put", 4)) return store.Put(words[2], words[3]) ? 0 : 1;
  if (is("delete", 3)) return store.Delete(words[2]) ? 0 : 1;
  if (is("get", 3)) {
    const auto value = store.Get(words[2]);
    std::cout << value.value_or("(nothing)") << '\n';
    return value.has_value() ? 0 : 1;
  }
  if (is("fill", 3)) {
    for (int i = 0; i < std::stoi(words[2]); ++i) {
      if (!store.Put("key " + std::to_string(i), std::string(100, static_cast<char>('a' + i % 26)))) return 1;
    }
    std::cout << store.Stats();
    return 0;
  }
  if (is("stats", 2)) {
    std::cout << store.Stats();
    return 0;
  }
  return 2;
}
