#include "strongbin/memtable/status.h"

namespace strongbin {

std::string_view Status::message() const {
  switch (code_) {
    case Code::kOk:
      return "done";
    case Code::kNotFound:
      return "no version of the key at or below the snapshot";
    case Code::kDuplicate:
      return "the table already holds this key with this sequence number";
    case Code::kInvalidArgument:
      return "key, value or sequence number out of range, or a null pointer with a length";
    case Code::kFrozen:
      return "the table is frozen";
    case Code::kClosed:
      return "the table has been released";
    case Code::kBusy:
      return "a pin or an iterator is open on the table";
    case Code::kOutOfMemory:
      return "the operating system refused memory";
    case Code::kOverBudget:
      return "the write would pass the table's memory budget";
    case Code::kTooManyEntries:
      return "the table holds as many entries as it can number";
    case Code::kAborted:
      return "the caller's callback gave up";
    case Code::kCorruption:
      return "what is read is not what was written";
  }
  return "unknown status";
}

}  // namespace strongbin
