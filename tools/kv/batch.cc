#include "strongbin/tools/kv/batch.h"

#include <bit>
#include <cstring>

namespace strongbin::kv {
namespace {

// In front of each key and its value.
struct EntryHeader {
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint32_t kind;
};
static_assert(std::endian::native == std::endian::little, "logs are written in the byte order of the machine");

constexpr size_t kMaxPayloadBytes = kMaxBlobBytes;

}  // namespace

void Batch::Add(EntryKind kind, std::string_view key, std::string_view value) {
  const size_t room_bytes = kMaxPayloadBytes - payload_.size();
  fits_ = fits_ && sizeof(EntryHeader) <= room_bytes && key.size() <= room_bytes - sizeof(EntryHeader) &&
          value.size() <= room_bytes - sizeof(EntryHeader) - key.size();
  if (!fits_) return;
  const EntryHeader header = {static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size()),
                              static_cast<uint32_t>(kind)};
  payload_.append(reinterpret_cast<const char*>(&header), sizeof(header)).append(key).append(value);
  ++count_;
}

void Batch::Clear() {
  payload_.clear();
  count_ = 0;
  fits_ = true;
}

bool DecodeBatch(std::string_view payload, size_t count, Sequence first, std::vector<Write>* writes) {
  writes->clear();
  while (!payload.empty()) {
    EntryHeader header;
    if (payload.size() < sizeof(header)) return false;
    std::memcpy(&header, payload.data(), sizeof(header));
    payload.remove_prefix(sizeof(header));
    const auto kind = static_cast<EntryKind>(header.kind);
    if (header.kind > 1 || header.key_bytes > payload.size()) return false;
    if (header.value_bytes > payload.size() - header.key_bytes || writes->size() == count) return false;
    Write& write = writes->emplace_back();
    write.key = payload.substr(0, header.key_bytes);
    write.value = payload.substr(header.key_bytes, header.value_bytes);
    write.sequence = first + writes->size() - 1;
    write.kind = kind;
    payload.remove_prefix(size_t{header.key_bytes} + header.value_bytes);
  }
  return writes->size() == count;
}

}  // namespace strongbin::kv
