// What an operation answers when there is more to say than "done".
#pragma once

#include <cstdint>
#include <string_view>

namespace strongbin {

// A code with a fixed sentence; one byte, free to copy. An operation that answers anything but kOk has changed nothing.
class [[nodiscard]] Status {
 public:
  enum class Code : uint8_t {
    kOk,
    kNotFound,         // no version of the key at or below the snapshot
    kDuplicate,        // the table has this key with this sequence number
    kInvalidArgument,  // key or value too long, null with a length, sequence out of range
    kFrozen,           // write to a frozen table
    kClosed,           // the table has been released
    kBusy,             // reset or release while a pin or an iterator is open
    kOutOfMemory,      // the operating system refused memory
    kOverBudget,       // the write would pass the hard budget
    kTooManyEntries,   // the table holds as many entries as it can number
    kAborted,          // a callback of the caller said no
    kCorruption,       // what is read is not what was written
  };

  constexpr Status() = default;
  constexpr Status(Code code) : code_(code) {}  // NOLINT(google-explicit-constructor): a code is a status

  constexpr bool ok() const { return code_ == Code::kOk; }
  constexpr Code code() const { return code_; }
  // A sentence for people; a literal.
  std::string_view message() const;

  friend constexpr bool operator==(Status a, Status b) { return a.code_ == b.code_; }

 private:
  Code code_ = Code::kOk;
};

}  // namespace strongbin
