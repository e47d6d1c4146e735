// What one database answered, in words, and where the answers of two differ.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

namespace strongbin::differential {

class Trace {
 public:
  // What was asked, and the answer: a status; a value with it; the place of an iterator.
  void Add(std::string_view asked, std::string_view answer);
  void AddStatus(std::string_view asked, const ROCKSDB_NAMESPACE::Status& status);
  void AddValue(std::string_view asked, const ROCKSDB_NAMESPACE::Status& status, const ROCKSDB_NAMESPACE::Slice& value);
  void AddEntry(std::string_view asked, const ROCKSDB_NAMESPACE::Slice& key, const ROCKSDB_NAMESPACE::Slice& value);
  void Append(const Trace& other) { lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end()); }
  void Clear() { lines_.clear(); }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

// Nothing where both are the same, else the first line that differs with some before it.
std::optional<std::string> FirstDifference(const Trace& expected, const Trace& actual);

// Only the code: messages name files.
std::string DescribeStatus(const ROCKSDB_NAMESPACE::Status& status);
// A short value whole, a long one by its size and a hash.
std::string DescribeValue(const ROCKSDB_NAMESPACE::Slice& value);

}  // namespace strongbin::differential
