// Any operations of a pool and of arenas on it, beside a model that knows every byte and every chunk.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/chunk_source.h"
#include "strongbin/stats/identities.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/stats/page_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMaxReadyBytes = size_t{10} << 20;  // of a class; see ColdStart::ahead

// Bytes with a stamp of their own. Of large ones the ends and some pages between, so that a run stays short.
struct Stamped {
  char* data;
  size_t bytes;
  char stamp;

  static constexpr size_t kWhole = 4096;

  template <class Visit>
  void ForEach(const Visit& visit) const {
    const size_t step = bytes <= 2 * kWhole ? 1 : std::max(kWhole, bytes / 32);
    for (size_t i = 0; i < bytes; i += step) visit(&data[i]);
    if (bytes > 0) visit(&data[bytes - 1]);
  }
  void Write() const {
    ForEach([this](char* byte) { *byte = stamp; });
  }
  void Check() const {
    ForEach([this](const char* byte) { FUZZ_REQUIRE(*byte == stamp, "somebody else's byte"); });
  }
};

class PoolRun {
 public:
  PoolRun(const uint8_t* data, size_t size) : input_(data, size) {
    ChunkPoolOptions options;
    const uint8_t style = input_.Byte();
    if ((style & 1) != 0) options.custom_source = &refusing_source_;
    cap_bytes_ = CapBytes();
    options.cap_bytes = cap_bytes_;
    options.cold_start.populate = (style & 2) != 0;
    options.cold_start.ahead = (style & 8) != 0;
    options.decay_ms = (style & 4) != 0 ? 1 : 0;
    options.clock_ns = [this] { return now_ns_; };  // so no thread works; Step calls what it would
    pool_.emplace(options);
    for (auto& arena : arenas_) {
      arena.arena.emplace(MonotonicArenaOptions{.pool = &*pool_, .min_buffer_bytes = Size() % (kMaxChunkBytes + 1)});
    }
  }

  void Run() {
    while (!input_.AtEnd()) {
      Step();
      CheckBooks();
    }
    for (ArenaModel& arena : arenas_) Empty(&arena, 1);
    while (!chunks_.empty()) ReleaseSome();
    CheckBooks();
    FUZZ_REQUIRE(LentBytes(*pool_) == 0, "still lent");
  }

 private:
  struct ArenaModel {
    std::optional<MonotonicArena> arena;
    std::vector<Stamped> pieces;
    size_t promised_bytes = 0;
    size_t promised_largest = 0;
  };

  // Around the boundaries of classes, or any up to 64 KiB.
  size_t Size() {
    const uint8_t style = input_.Byte();
    if (style < 0x60) return style;
    if (style < 0x90) return size_t{style} * 256 + input_.Byte();
    const size_t power = size_t{1} << (style % 21);
    return power + input_.Below(3) - (power > 1 ? 1 : 0);
  }

  // Half of the time several slabs, without which none is made ahead.
  size_t CapBytes() {
    const size_t bytes = Size();
    return input_.Coin() ? bytes : bytes + 4 * kSlabBytes;
  }

  void Step() {
    switch (input_.Below(20)) {
      case 0:
        pool_->OnMemoryPressure();
        FUZZ_REQUIRE(IdleBytes(*pool_) == 0, "idle after pressure");
        return;
      case 1:
        pool_->DropIdle();
        FUZZ_REQUIRE(IdleBytes(*pool_) == 0, "idle after a drop");
        return;
      case 2:
        cap_bytes_ = CapBytes();
        pool_->SetCapBytes(cap_bytes_);
        return;
      case 3:
        refusing_source_.RefuseAfter(input_.Byte() % 8);
        return;
      case 4:
        refusing_source_.GrantAll();
        return;
      case 5:
        now_ns_ += uint64_t{input_.Byte()} * 20'000;
        pool_->DropDecayed();
        return;
      case 6:
        pool_->SetDecayMs(input_.Byte() % 3);
        return;
      case 7:
        pool_->SetColdStart({.huge_pages = input_.Coin(), .populate = input_.Coin(), .ahead = input_.Coin()});
        return;
      case 8:
      case 9:
        return ReleaseSome();
      case 10:
        return ChangeArena();
      case 11:
        return MakeAhead();
      case 12:
      case 13:
      case 14:
        return Allocate(&arenas_[input_.Below(arenas_.size())]);
      default:
        return Acquire();
    }
  }

  void MakeAhead() {
    const uint64_t before = Sum(pool_->Stats().ahead_bytes);
    const size_t made_bytes = pool_->MakeAhead();
    FUZZ_REQUIRE(made_bytes % kSlabBytes == 0 && Sum(pool_->Stats().ahead_bytes) == before + made_bytes, "made ahead");
    FUZZ_REQUIRE(pool_->MakeAhead() == 0, "more than was wished for");
  }

  void Acquire() {
    // What fills slabs goes by fours: great use is within reach of few bytes.
    const bool large = chunks_.size() < 56 && input_.Below(8) == 0;
    for (int count = large ? 4 : 0; count > 0; --count) AcquireOne(kMaxChunkBytes >> input_.Below(3));
    if (!large) AcquireOne(Size());
  }

  void AcquireOne(size_t bytes) {
    if (chunks_.size() >= 64) return ReleaseSome();
    const Chunk chunk = pool_->Acquire(bytes, ChunkKind::k_key);
    if (!chunk) return;
    const size_t slot = ClassFor(bytes);
    FUZZ_REQUIRE(chunk.bytes == (slot == kOversizeSlot ? bytes : ClassBytes(slot)), "not the smallest class");
    FUZZ_REQUIRE(reinterpret_cast<uintptr_t>(chunk.data) % kChunkAlignment == 0, "alignment");
    stamps_.push_back({chunk.data, chunk.bytes, ++stamp_});
    stamps_.back().Write();
    chunks_.push_back(chunk);
  }

  // From the end or the middle, one or many, kept or dropped.
  void ReleaseSome() {
    if (chunks_.empty()) return;
    const size_t first = input_.Byte() % chunks_.size();
    const size_t count = std::min(chunks_.size() - first, 1 + input_.Below(8));
    std::vector<Chunk> some;
    for (size_t i = first; i < first + count; ++i) {
      stamps_[i].Check();
      some.push_back(chunks_[i]);
      if (input_.Below(8) == 1) some.push_back({});
    }
    const auto begin = static_cast<ptrdiff_t>(first), end = static_cast<ptrdiff_t>(first + count);
    chunks_.erase(chunks_.begin() + begin, chunks_.begin() + end);
    stamps_.erase(stamps_.begin() + begin, stamps_.begin() + end);
    input_.Coin() ? ChunkPool::Release(some) : ChunkPool::Drop(some);
  }

  void Allocate(ArenaModel* model) {
    if (model->pieces.size() >= 64) return Empty(model, input_.Below(3));
    const size_t bytes = Size();
    const size_t alignment = size_t{1} << input_.Below(13);
    const size_t need_bytes = bytes + alignment - 1;
    // Nothing needs a place, too, and a promise of nothing has none.
    const bool promised =
        need_bytes > 0 && need_bytes <= model->promised_largest && need_bytes <= model->promised_bytes;
    char* data = model->arena->Allocate(bytes, alignment);
    FUZZ_REQUIRE(data != nullptr || !promised, "a promise was not kept");
    model->promised_bytes -= std::min(model->promised_bytes, need_bytes);
    if (data == nullptr) return;
    FUZZ_REQUIRE(reinterpret_cast<uintptr_t>(data) % alignment == 0, "alignment");
    model->pieces.push_back({data, bytes, ++stamp_});
    model->pieces.back().Write();
    FUZZ_REQUIRE(model->arena->used_bytes() <= model->arena->reserved_bytes(), "used above reserved");
    FUZZ_REQUIRE(model->arena->peak_bytes() >= model->arena->reserved_bytes(), "peak below reserved");
  }

  void ChangeArena() {
    ArenaModel& model = arenas_[input_.Below(arenas_.size())];
    const size_t change = input_.Below(4);
    if (change < 3) return Empty(&model, change);
    const size_t total = Size(), largest = Size();
    const bool done = model.arena->Reserve(total, largest);
    model.promised_bytes = done ? total : 0;
    model.promised_largest = done ? std::min(total, largest) : 0;
  }

  void Empty(ArenaModel* model, size_t how) {
    for (const Stamped& piece : model->pieces) piece.Check();
    model->pieces.clear();
    model->promised_bytes = 0;
    if (how == 0) model->arena->Reset();
    if (how == 1) model->arena->Release();
    if (how == 2) model->arena->Drop();
    FUZZ_REQUIRE(how == 0 || model->arena->reserved_bytes() == 0, "an empty arena holds something");
  }

  void CheckBooks() {
    const PoolStats stats = pool_->Stats();
    const std::string broken = BrokenIdentities(stats);
    FUZZ_REQUIRE(broken.empty(), broken);
    FUZZ_REQUIRE(Sum(stats.idle_bytes) <= cap_bytes_, "idle above the cap");
    for (size_t slot = 0; slot < kSizeClassCount; ++slot) {
      // What shares a page with a chunk in use cannot go back.
      if (ClassBytes(slot) < kPageBytes) continue;
      FUZZ_REQUIRE(stats.slab_free_bytes[slot] <= (stats.lent_bytes[slot] == 0 ? 0 : kMaxReadyBytes),
                   "too much lies ready");
    }
    uint64_t lent = 0;
    for (const Chunk& chunk : chunks_) lent += chunk.bytes;
    for (const ArenaModel& model : arenas_) lent += model.arena->reserved_bytes();
    FUZZ_REQUIRE(Sum(stats.lent_bytes) == lent, "lent is not what we hold");
  }

  FuzzInput input_;
  RefusingSource refusing_source_;
  size_t cap_bytes_ = 0;
  uint64_t now_ns_ = 1;
  std::optional<ChunkPool> pool_;
  std::array<ArenaModel, 2> arenas_;
  std::vector<Chunk> chunks_;
  std::vector<Stamped> stamps_;
  char stamp_ = 0;
};

}  // namespace
}  // namespace strongbin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::PoolRun(data, size).Run();
  return 0;
}
