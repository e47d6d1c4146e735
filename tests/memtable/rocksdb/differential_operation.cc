#include "strongbin/tests/memtable/rocksdb/differential_operation.h"

#include <array>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_text.h"

namespace strongbin::differential {

namespace {

constexpr std::array<std::string_view, kOpKindCount> kNames = {
    "put",           "delete",        "single_delete", "merge",          "delete_range",  "fill",         "batch",
    "get",           "multi_get",     "key",           "merge_operands", "counts",        "snapshot",     "release",
    "iterate",       "open_iterator", "move_iterator", "close_iterator", "seek_to_first", "seek_to_last", "seek",
    "seek_for_prev", "next",          "prev",          "refresh",        "flush",         "compact",      "compare_all",
    "read_only",     "secondary",     "reopen",        "kill",           "threads"};

using Number = NumberField<Operation>;
constexpr std::array kNumbers = {Number{"family", &Operation::family},
                                 Number{"slot", &Operation::slot},
                                 Number{"at", &Operation::at},
                                 Number{"thread", &Operation::thread},
                                 Number{"value_seed", &Operation::value_seed},
                                 Number{"value_bytes", &Operation::value_bytes},
                                 Number{"count", &Operation::count},
                                 Number{"mode", &Operation::mode},
                                 Number{"option", &Operation::option},
                                 Number{"delay_us", &Operation::delay_us}};

std::string_view TakeUntil(char end, std::string_view* text) {
  const std::string_view head = text->substr(0, text->find(end));
  text->remove_prefix(std::min(head.size() + 1, text->size()));
  return head;
}

bool ParseFields(std::string_view line, Operation* operation) {
  while (!line.empty()) {
    std::string_view value = TakeUntil(' ', &line);
    const std::string_view name = TakeUntil('=', &value);
    if (name == "key" || name == "end") {
      std::optional<std::string>& bytes = name == "key" ? operation->key : operation->end;
      bytes = Decode(value);
      if (!bytes) return false;
    } else if (!SetNumber<Operation>(name, value, kNumbers, operation)) {
      return false;
    }
  }
  return true;
}

bool HasItsKeys(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::kDeleteRange:
      return operation.key && operation.end;
    case OpKind::kPut:
    case OpKind::kDelete:
    case OpKind::kSingleDelete:
    case OpKind::kMerge:
    case OpKind::kGet:
    case OpKind::kKey:
    case OpKind::kGetMergeOperands:
    case OpKind::kSeek:
    case OpKind::kSeekForPrev:
      return operation.key.has_value();
    default:
      return true;
  }
}

bool ParseOperation(std::string_view line, Operation* operation) {
  const std::string_view name = TakeUntil(' ', &line);
  for (size_t kind = 0; kind < kNames.size(); ++kind) {
    if (kNames[kind] != name) continue;
    operation->kind = static_cast<OpKind>(kind);
    return ParseFields(line, operation) && HasItsKeys(*operation);
  }
  return false;
}

constexpr std::string_view kConfigWord = "config";

}  // namespace

std::string_view OpKindName(OpKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool IsWrite(OpKind kind) { return kind <= OpKind::kBatch; }

size_t CountOperations(const std::vector<Operation>& operations) {
  size_t count = operations.size();
  for (const Operation& operation : operations) count += CountOperations(operation.parts);
  return count;
}

std::string Format(const Operation& operation, size_t depth) {
  std::string text(2 * depth, ' ');
  text += OpKindName(operation.kind);
  AppendNumbers<Operation>(operation, kNumbers, &text);
  if (operation.key) text += " key=" + Encode(*operation.key);
  if (operation.end) text += " end=" + Encode(*operation.end);
  text += '\n';
  for (const Operation& part : operation.parts) text += Format(part, depth + 1);
  return text;
}

std::string Format(const Round& round) {
  std::string text(kConfigWord);
  AppendNumbers<RoundConfig>(round.config, ConfigFields(), &text);
  text += '\n';
  for (const Operation& operation : round.operations) text += Format(operation);
  return text;
}

bool Parse(std::string_view text, Round* round, std::string* error) {
  *round = {};
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = TakeUntil('\n', &text);
    const std::string at_line = "line " + std::to_string(number) + " is wrong: " + std::string(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with(kConfigWord)) {
      TakeUntil(' ', &line);
      while (!line.empty()) {
        std::string_view value = TakeUntil(' ', &line);
        const std::string_view name = TakeUntil('=', &value);
        if (!SetNumber<RoundConfig>(name, value, ConfigFields(), &round->config)) return *error = at_line, false;
      }
      continue;
    }
    std::vector<Operation>* list = &round->operations;
    for (; line.starts_with("  "); line.remove_prefix(2)) {
      if (list->empty()) return *error = at_line, false;
      list = &list->back().parts;
    }
    if (!ParseOperation(line, &list->emplace_back())) return *error = at_line, false;
  }
  return true;
}

}  // namespace strongbin::differential
