#include "strongbin/tests/memtable/rocksdb/fake_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace {

size_t VarintBytes(size_t number) {
  size_t bytes = 1;
  for (; number >= 128; number /= 128) ++bytes;
  return bytes;
}

char* PutVarint(char* to, size_t number) {
  for (; number >= 128; number /= 128) *to++ = static_cast<char>(number % 128 + 128);
  *to++ = static_cast<char>(number);
  return to;
}

// Returns what lies behind the number.
const char* TakeVarint(const char* from, size_t* number) {
  *number = 0;
  for (size_t factor = 1;; factor *= 128) {
    const auto byte = static_cast<unsigned char>(*from++);
    *number += byte % 128 * factor;
    if (byte < 128) return from;
  }
}

char* PutTag(char* to, uint64_t sequence, uint8_t type) {
  const uint64_t tag = sequence * 256 + type;
  for (int shift = 0; shift < 64; shift += 8) *to++ = static_cast<char>(tag >> shift);
  return to;
}

char* PutBytes(char* to, std::string_view bytes) { return std::copy(bytes.begin(), bytes.end(), to); }

constexpr size_t kTag = 8;

}  // namespace

namespace ROCKSDB_NAMESPACE {

char* Allocator::Allocate(size_t bytes) {
  if (refuse && refuse(bytes)) throw std::bad_alloc();
  // malloc aligns: one byte more than that is aligned to nothing.
  auto block = std::make_unique<char[]>(bytes + 1);
  char* data = block.get() + 1;
  calls_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_.push_back(std::move(block));
  return data;
}

LookupKey::LookupKey(std::string_view user_key, uint64_t sequence)
    : prefix_bytes_(VarintBytes(user_key.size() + kTag)) {
  bytes_.resize(prefix_bytes_ + user_key.size() + kTag);
  char* to = PutVarint(bytes_.data(), user_key.size() + kTag);
  PutTag(PutBytes(to, user_key), sequence, strongbin::kTypeOfSeek);
}

Slice GetLengthPrefixedSlice(const char* data) {
  size_t bytes = 0;
  const char* begin = TakeVarint(data, &bytes);
  return {begin, bytes};
}

KeyHandle MemTableRep::Allocate(const size_t len, char** buf) {
  *buf = allocator_->Allocate(len);
  return *buf;
}

// As promised in the header: an iterator, a seek, the callback for what follows. As measured: the iterator is never let
// go of.
void MemTableRep::Get(const LookupKey& k, void* callback_args, bool (*callback_func)(void* arg, const char* entry)) {
  Iterator* const iterator = GetDynamicPrefixIterator();
  iterator->Seek(k.internal_key(), k.memtable_key().data());
  while (iterator->Valid() && callback_func(callback_args, iterator->key())) iterator->Next();
}

void MemTableRep::InsertConcurrently(KeyHandle) { std::abort(); }

Slice MemTableRep::UserKey(const char* key) const {
  const Slice internal_key = GetLengthPrefixedSlice(key);
  return {internal_key.data(), internal_key.size() - kTag};
}

}  // namespace ROCKSDB_NAMESPACE

namespace strongbin {

using ROCKSDB_NAMESPACE::KeyHandle;

size_t EncodedBytes(const FakeEntry& entry) {
  const size_t key_bytes = entry.key.size() + kTag;
  return VarintBytes(key_bytes) + key_bytes + VarintBytes(entry.value.size()) + entry.value.size() +
         entry.checksum_bytes;
}

void Encode(const FakeEntry& entry, char* buffer) {
  char* to = PutBytes(PutVarint(buffer, entry.key.size() + kTag), entry.key);
  to = PutVarint(PutTag(to, entry.sequence, entry.type), entry.value.size());
  std::fill_n(PutBytes(to, entry.value), entry.checksum_bytes, kChecksumByte);
}

FakeEntry Decode(const char* encoded) {
  FakeEntry entry;
  size_t bytes = 0;
  encoded = TakeVarint(encoded, &bytes);
  entry.key = {encoded, bytes - kTag};
  encoded += bytes - kTag;
  entry.type = static_cast<uint8_t>(*encoded);
  for (size_t i = kTag - 1; i > 0; --i) entry.sequence = entry.sequence * 256 + static_cast<unsigned char>(encoded[i]);
  encoded = TakeVarint(encoded + kTag, &bytes);
  entry.value = {encoded, bytes};
  return entry;
}

std::string InternalKeyOf(std::string_view key, Sequence sequence, uint8_t type) {
  std::string bytes(key.size() + kTag, '\0');
  PutTag(PutBytes(bytes.data(), key), sequence, type);
  return bytes;
}

namespace {

template <void (Rep::*kInsert)(KeyHandle)>
bool CallSilent(Rep& rep, KeyHandle handle, void**) {
  (rep.*kInsert)(handle);
  return true;
}
template <void (Rep::*kInsert)(KeyHandle, void**)>
bool CallSilentWithHint(Rep& rep, KeyHandle handle, void** hint) {
  (rep.*kInsert)(handle, hint);
  return true;
}
template <bool (Rep::*kInsert)(KeyHandle)>
bool Call(Rep& rep, KeyHandle handle, void**) {
  return (rep.*kInsert)(handle);
}
template <bool (Rep::*kInsert)(KeyHandle, void**)>
bool CallWithHint(Rep& rep, KeyHandle handle, void** hint) {
  return (rep.*kInsert)(handle, hint);
}

}  // namespace

const InsertCall kInsertCalls[8] = {
    {"InsertKey", true, Call<&Rep::InsertKey>},
    {"InsertKeyConcurrently", true, Call<&Rep::InsertKeyConcurrently>},
    {"InsertKeyWithHint", true, CallWithHint<&Rep::InsertKeyWithHint>},
    {"InsertKeyWithHintConcurrently", true, CallWithHint<&Rep::InsertKeyWithHintConcurrently>},
    {"Insert", false, CallSilent<&Rep::Insert>},
    {"InsertConcurrently", false, CallSilent<&Rep::InsertConcurrently>},
    {"InsertWithHint", false, CallSilentWithHint<&Rep::InsertWithHint>},
    {"InsertWithHintConcurrently", false, CallSilentWithHint<&Rep::InsertWithHintConcurrently>},
};
const InsertCall& kPlainInsert = kInsertCalls[0];
const InsertCall& kConcurrentInsert = kInsertCalls[1];

KeyHandle AllocateEntry(Rep* rep, const FakeEntry& entry) {
  char* buffer = nullptr;
  const KeyHandle handle = rep->Allocate(EncodedBytes(entry), &buffer);
  Encode(entry, buffer);
  return handle;
}

bool AddEntry(Rep* rep, const FakeEntry& entry, const InsertCall& call) {
  void* hint = nullptr;
  return call.insert(*rep, AllocateEntry(rep, entry), &hint);
}

void ForEachVersion(Rep* rep, std::string_view key, Sequence snapshot,
                    std::function<bool(const char* entry)> callback) {
  rep->Get({key, snapshot}, &callback, [](void* args, const char* entry) {
    return (*static_cast<std::function<bool(const char* entry)>*>(args))(entry);
  });
}

const char* FirstVersion(Rep* rep, std::string_view key, Sequence snapshot) {
  const char* first = nullptr;
  rep->Get({key, snapshot}, &first, [](void* args, const char* entry) {
    *static_cast<const char**>(args) = entry;
    return false;
  });
  return first;
}

void EndIterator::operator()(Rep::Iterator* iterator) const {
  if (end == IteratorEnd::kDelete) {
    delete iterator;
  } else {
    iterator->~Iterator();
  }
}

RepIteratorPtr OpenIterator(Rep* rep, IteratorEnd end) {
  ROCKSDB_NAMESPACE::Arena arena;
  return {rep->GetIterator(end == IteratorEnd::kDelete ? nullptr : &arena), EndIterator{end}};
}

RecordingCharge::Books RecordingCharge::Now() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return books_;
}

void RecordingCharge::Change(size_t Books::*number, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  books_.*number += bytes;
  books_.in_order &= books_.freed <= books_.scheduled && books_.scheduled <= books_.reserved;
  books_.most_held = std::max(books_.most_held, books_.held());
}

void RecordingListener::OnEnd(const AppendOnlyRep& rep) {
  ++end_calls;
  held_bytes_at_end = rep.memory().held_bytes();
  unappended_at_end = rep.unappended_count();
}

FakeMemTable::FakeMemTable(ChunkPool* pool, RepMemory::Home home)
    : rep(std::make_unique<AppendOnlyRep>(&arena, pool, home,
                                          home == RepMemory::Home::kPool ? charge : std::shared_ptr<RecordingCharge>(),
                                          listener, /*logger=*/nullptr, /*order=*/nullptr)) {}

TableStats FakeMemTable::Stats() const {
  TableStats stats;
  rep->AddTo(&stats);
  return stats;
}

}  // namespace strongbin
