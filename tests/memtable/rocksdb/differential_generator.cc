#include "strongbin/tests/memtable/rocksdb/differential_generator.h"

#include <string>
#include <tuple>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_keys.h"
#include "strongbin/tests/memtable/rocksdb/differential_merge.h"
#include "strongbin/tests/memtable/rocksdb/differential_side.h"
#include "strongbin/tests/memtable/rocksdb/differential_writes.h"

namespace strongbin::differential {

namespace {

struct Weight {
  uint64_t weight;
  OpKind kind;
};

class Generator {
 public:
  explicit Generator(const RoundConfig& config)
      : config_(config),
        random_(config.seed),
        keys_(config),
        writes_(config),
        flush_(static_cast<ManualFlush>(config.manual_flush)) {
    const auto add = [&](OpKind kind, uint64_t weight) { weights_.push_back({weight, kind}); };
    add(OpKind::kPut, 560);  // stands for all writes
    add(OpKind::kGet, 90);
    add(OpKind::kMultiGet, 25);
    add(OpKind::kGetMergeOperands, 20);
    add(OpKind::kCounts, 5);
    add(OpKind::kIterate, 150);
    if (config.snapshots != 0) {
      add(OpKind::kSnapshot, 12);
      add(OpKind::kReleaseSnapshot, 10);
    }
    if (config.kept_iterators != 0) {
      add(OpKind::kOpenIterator, 15);
      add(OpKind::kMoveIterator, 80);
      add(OpKind::kCloseIterator, 10);
    }
    if (flush_ != ManualFlush::kNone) add(OpKind::kFlush, 4);
    if (flush_ <= ManualFlush::kWaiting) add(OpKind::kCompact, 1);
    add(OpKind::kCompareAll, 1);
    if (config.fills != 0) add(OpKind::kFill, 2);
    add(OpKind::kReopen, 1);
    if (config.other_instances != 0) {
      add(OpKind::kReadOnly, 1);
      add(OpKind::kSecondary, 2);
    }
    if (config.kills != 0) add(OpKind::kKill, 1);
    if (config.threads != 0) add(OpKind::kThreads, 4);
  }

  Round Generate() {
    Round round{.config = config_};
    const Place place{.plain = "", .single = {kSingleRegion}};
    while (round.operations.size() < config_.operation_count) {
      round.operations.push_back(Make(Pick(weights_), place));
    }
    return round;
  }

 private:
  OpKind Pick(const std::vector<Weight>& weights) {
    uint64_t sum = 0;
    for (const Weight& weight : weights) sum += weight.weight;
    uint64_t place = Below(&random_, sum);
    for (const Weight& weight : weights) {
      if (place < weight.weight) return weight.kind;
      place -= weight.weight;
    }
    return weights.back().kind;
  }
  bool Chance(uint64_t one_in) { return OneIn(&random_, one_in); }

  Operation Make(OpKind kind, const Place& place) {
    Operation operation{.kind = kind, .family = Below(&random_, kFamilyCount), .slot = Below(&random_, kSlotCount)};
    if (!Chance(2)) operation.at = place.shared ? 0 : Below(&random_, kSlotCount + 1);
    switch (kind) {
      case OpKind::kPut:
        return writes_.Make(place, &random_);
      case OpKind::kGet:
      case OpKind::kGetMergeOperands:
        operation.key = AnyKey(place);
        break;
      case OpKind::kMultiGet:
        operation.option = Below(&random_, 2);
        for (uint64_t count = 1 + Below(&random_, 10); count > 0; --count) {
          operation.parts.push_back({.kind = OpKind::kKey, .key = AnyKey(place)});
        }
        break;
      case OpKind::kIterate:
      case OpKind::kOpenIterator:
        ChooseIterator(place, &operation);
        [[fallthrough]];
      case OpKind::kMoveIterator:
        AddMoves(place, &operation);
        break;
      case OpKind::kFill:
        operation.at = operation.slot = 0;
        operation.option = Below(&random_, 2);
        operation.count = uint64_t{1000} << Below(&random_, 6);
        operation.value_seed = Below(&random_, 1'000'000);
        break;
      case OpKind::kFlush:
        operation.option = Below(&random_, flush_ == ManualFlush::kWaiting || IsExact(config_) ? 2 : 3);
        if (flush_ == ManualFlush::kNotWaiting) operation.option = 2;
        break;
      case OpKind::kCompact:
        if (Chance(2)) std::tie(operation.key, operation.end) = keys_.MakeRange(place.plain, &random_);
        break;
      case OpKind::kReopen:
      case OpKind::kSecondary:
        operation.option = Below(&random_, 2);
        break;
      case OpKind::kKill:
        operation.delay_us = Below(&random_, 10) * Below(&random_, 1000);
        break;
      case OpKind::kThreads:
        AddThreads(&operation);
        break;
      default:
        break;
    }
    return operation;
  }

  std::string AnyKey(const Place& place) {
    if (Chance(8)) return keys_.Make(place.single, &random_);
    if (!place.shared && Chance(10)) return keys_.Make({&kCounterRegion, 1}, &random_);
    return Chance(5) ? keys_.MakeBeside(place.plain, &random_) : keys_.Make(place.plain, &random_);
  }

  void ChooseIterator(const Place& place, Operation* operation) {
    operation->option = Chance(4) ? 1 : 0;
    if (config_.tailing != 0 && !place.shared && Chance(3)) {
      operation->mode = static_cast<uint64_t>(IteratorMode::kTailing);
    } else if (SeekPrefixBytes(config_) != 0 && Chance(3)) {
      operation->mode = static_cast<uint64_t>(IteratorMode::kSamePrefix);
    }
    if (Chance(2)) {
      std::tie(operation->key, operation->end) = keys_.MakeRange(place.plain, &random_);
      if (Chance(3)) operation->key.reset();
      if (Chance(3)) operation->end.reset();
    }
    if (!place.shared) return;
    const char behind = static_cast<char>(place.plain[0] + 1);
    if (!operation->key) operation->key = place.plain;
    if (!operation->end) operation->end = std::string(1, behind);
  }

  void AddMoves(const Place& place, Operation* operation) {
    static const std::vector<Weight> kMoves = {
        {5, OpKind::kSeekToFirst}, {5, OpKind::kSeekToLast}, {14, OpKind::kSeek},  {14, OpKind::kSeekForPrev},
        {40, OpKind::kNext},       {30, OpKind::kPrev},      {2, OpKind::kRefresh}};
    for (uint64_t count = 1 + Below(&random_, 14); count > 0; --count) {
      Operation move{.kind = Pick(kMoves)};
      const bool is_first = operation->parts.empty() && operation->kind != OpKind::kMoveIterator;
      if (is_first && move.kind > OpKind::kSeekForPrev) move.kind = Chance(2) ? OpKind::kSeek : OpKind::kSeekForPrev;
      if (move.kind == OpKind::kSeek || move.kind == OpKind::kSeekForPrev) {
        move.key = Chance(8) ? AnyKey(place) : keys_.MakeBeside(place.plain, &random_);
      }
      operation->parts.push_back(std::move(move));
    }
  }

  void AddThreads(Operation* operation) {
    const std::vector<Weight> parts = {{700, OpKind::kPut},
                                       {100, OpKind::kGet},
                                       {20, OpKind::kMultiGet},
                                       {100, OpKind::kIterate},
                                       {flush_ == ManualFlush::kNone ? 0u : 2u, OpKind::kFlush}};
    for (uint64_t thread = 0; thread < config_.threads; ++thread) {
      const Place place{.plain = {static_cast<char>(kFirstThreadRegion + static_cast<char>(thread))},
                        .single = {static_cast<char>(kFirstThreadSingleRegion + static_cast<char>(thread))},
                        .shared = true};
      for (uint64_t count = 10 + Below(&random_, 40); count > 0; --count) {
        operation->parts.push_back(Make(Pick(parts), place));
        operation->parts.back().thread = thread;
      }
    }
  }

  const RoundConfig config_;
  Random random_;
  const KeyMaker keys_;
  WriteMaker writes_;
  const ManualFlush flush_;
  std::vector<Weight> weights_;
};

}  // namespace

Round GenerateRound(const RoundConfig& config) {
  Round round = Generator(config).Generate();
  DropUndefined(&round.operations);
  return round;
}

}  // namespace strongbin::differential
