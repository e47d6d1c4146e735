// Keys, sequence numbers and writes of a memtable out of a fuzzer's bytes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tests/memtable/table_model.h"

namespace strongbin {

class TableInput {
 public:
  explicit TableInput(FuzzInput* input) : input_(input) {}

  // Mostly short and of any bytes; often one that has been there, or beside it.
  std::string Key() {
    const uint8_t style = input_->Byte();
    std::string key;
    if (style >= 0xB0 && !known_.empty()) {
      key = known_[input_->Byte() % known_.size()];
      if (style >= 0xF0) key += '\0';
      if (style >= 0xE0 && style < 0xF0 && !key.empty()) key.pop_back();
    } else if (style >= 0xA0) {
      key = std::string(size_t{60} + style, 'l') + std::string(input_->Bytes(2));
    } else {
      key = input_->Bytes(style % 12);
    }
    if (known_.size() < 256) known_.push_back(key);
    return key;
  }
  // Mostly rising; some small ones that come again, the last one, and one that is out of range.
  Sequence NextSequence() {
    const uint8_t style = input_->Byte();
    if (style < 0x60) return ++next_;
    if (style < 0xFE) return style - 0x60u;
    return style == 0xFE ? kMaxSequence : kMaxSequence + 1;
  }
  Sequence Snapshot() {
    const uint8_t style = input_->Byte();
    return style < 0x80 ? kMaxSequence : style < 0xC0 ? next_ : style - 0xC0u;
  }
  std::pair<ModelKey, ModelValue> Entry() {
    ModelKey key{Key(), NextSequence()};
    const auto kind = static_cast<EntryKind>(input_->Below(4));
    const size_t length = input_->Byte();
    std::string bytes(length < 0xF0 ? length : (length - 0xF0) * 5000, static_cast<char>(input_->Byte()));
    if (kind == EntryKind::kDelete) bytes.clear();
    if (kind == EntryKind::kValuePointer) bytes.assign(16, 'p');
    return {std::move(key), {kind, std::make_shared<const std::string>(std::move(bytes))}};
  }
  // `borrowed` keeps what the table must find for as long as it lives.
  Write AsWrite(const ModelKey& key, const ModelValue& value,
                std::vector<std::shared_ptr<const std::string>>* borrowed) {
    borrowed->push_back(value.bytes);
    const uint8_t style = input_->Byte();
    const size_t cut = style < 0x80 ? key.key.size() : style % (key.key.size() + 1);
    return {.key = std::string_view(key.key).substr(0, cut),
            .key_suffix = std::string_view(key.key).substr(cut),
            .sequence = key.sequence,
            .value = *value.bytes,
            .kind = value.kind,
            .value_mode = style % 3 == 0 ? ValueMode::kBorrow : ValueMode::kCopy};
  }

 private:
  FuzzInput* const input_;
  std::vector<std::string> known_;
  Sequence next_ = 0;
};

}  // namespace strongbin
