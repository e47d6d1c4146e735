#include "strongbin/tools/kv/log_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <random>
#include <sys/uio.h>
#include <unistd.h>

#include "strongbin/tools/kv/log_format.h"

namespace strongbin::kv {
namespace {

template <class T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

rocksdb::Status LogWriter::Create(const std::string& directory, uint64_t number, std::unique_ptr<LogWriter>* writer) {
  const std::string path = LogPath(directory, number);
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return SystemError("cannot make", path);
  std::random_device random;
  const uint64_t salt = uint64_t{random()} << 32 | random();
  std::unique_ptr<LogWriter> made(new LogWriter(path, number, salt, descriptor));
  LogHeader header = {kLogMagic, number, salt, 0};
  header.checksum = ChecksumOf(header);
  rocksdb::Status status = made->WriteAll(BytesOf(header), {});
  if (status.ok()) status = made->Sync();
  if (status.ok()) status = SyncDirectory(directory);
  if (status.ok()) *writer = std::move(made);
  return status;
}

rocksdb::Status LogWriter::Append(Sequence first, size_t count, std::string_view payload) {
  RecordHeader header = {first, ChecksumOf(payload), static_cast<uint32_t>(payload.size()),
                         static_cast<uint32_t>(count), 0};
  header.checksum = ChecksumOf(header, salt_, offset_);
  return WriteAll(BytesOf(header), payload);
}

rocksdb::Status LogWriter::Sync() {
  return fdatasync(file_.get()) == 0 ? rocksdb::Status::OK() : SystemError("cannot sync", path_);
}

rocksdb::Status LogWriter::WriteAll(std::string_view head, std::string_view body) {
  while (!head.empty() || !body.empty()) {
    const std::array<iovec, 2> parts = {iovec{const_cast<char*>(head.data()), head.size()},
                                        iovec{const_cast<char*>(body.data()), body.size()}};
    const ssize_t written = writev(file_.get(), parts.data(), parts.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot write", path_);
    offset_ += static_cast<uint64_t>(written);
    const size_t of_head = std::min(head.size(), static_cast<size_t>(written));
    head.remove_prefix(of_head);
    body.remove_prefix(static_cast<size_t>(written) - of_head);
  }
  return rocksdb::Status::OK();
}

}  // namespace strongbin::kv
