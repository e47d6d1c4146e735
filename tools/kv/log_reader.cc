#include "strongbin/tools/kv/log_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strongbin/tools/kv/directory.h"
#include "strongbin/tools/kv/log_format.h"

namespace strongbin::kv {
namespace {

rocksdb::Status ReadFile(const std::string& path, std::string* bytes) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about = {};
  if (file.get() < 0 || fstat(file.get(), &about) != 0) return SystemError("cannot open", path);
  bytes->resize(static_cast<size_t>(about.st_size));
  size_t read_bytes = 0;
  while (read_bytes < bytes->size()) {
    const ssize_t got = read(file.get(), bytes->data() + read_bytes, bytes->size() - read_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("cannot read", path);
    if (got == 0) break;
    read_bytes += static_cast<size_t>(got);
  }
  bytes->resize(read_bytes);
  return rocksdb::Status::OK();
}

// Is there a whole record at `offset`?
bool ParseRecord(std::string_view bytes, uint64_t salt, size_t offset, LogRecord* record) {
  RecordHeader header;
  if (bytes.size() - offset < sizeof(header)) return false;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  if (header.checksum != ChecksumOf(header, salt, offset)) return false;
  const size_t room_bytes = bytes.size() - offset - sizeof(header);
  if (header.payload_bytes > room_bytes) return false;
  record->payload = bytes.substr(offset + sizeof(header), header.payload_bytes);
  record->first = header.first_sequence;
  record->count = header.entry_count;
  return header.payload_checksum == ChecksumOf(record->payload);
}

rocksdb::Status Damaged(const std::string& path, size_t offset, const std::string& what) {
  return rocksdb::Status::Corruption(path + " is damaged at byte " + std::to_string(offset), what);
}

}  // namespace

rocksdb::Status ReadLog(const std::string& directory, uint64_t number, LogContents* contents) {
  *contents = {};
  const std::string path = LogPath(directory, number);
  if (rocksdb::Status read = ReadFile(path, &contents->bytes); !read.ok()) return read;
  const std::string_view bytes = contents->bytes;
  LogHeader header = {};
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof(header)));
  const bool whole_header =
      bytes.size() >= sizeof(header) && header.magic == kLogMagic && header.checksum == ChecksumOf(header);
  if (!whole_header) {
    // Records follow only a header that was synced; a crash may have left no more than a part of one.
    if (bytes.size() > sizeof(header)) return Damaged(path, 0, "the file's header is not one");
    contents->torn_bytes = bytes.size();
    return rocksdb::Status::OK();
  }
  if (header.number != number) return Damaged(path, 0, "it is log " + std::to_string(header.number) + " by its header");

  size_t offset = sizeof(header);
  LogRecord record;
  while (offset < bytes.size() && ParseRecord(bytes, header.salt, offset, &record)) {
    contents->records.push_back(record);
    offset += sizeof(RecordHeader) + record.payload.size();
  }
  for (size_t later = offset + 1; later < bytes.size(); ++later) {
    if (!ParseRecord(bytes, header.salt, later, &record)) continue;
    contents->records.clear();
    return Damaged(path, offset, "a whole record follows at byte " + std::to_string(later));
  }
  contents->torn_bytes = bytes.size() - offset;
  return rocksdb::Status::OK();
}

}  // namespace strongbin::kv
