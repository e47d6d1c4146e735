// An exact count of the allocations that a thread makes.
#pragma once

#include <cstdint>

namespace strongbin::dbbench {

struct AllocationCount {
  uint64_t calls = 0;
  uint64_t bytes = 0;
};

// What the calling thread has asked of malloc and its relatives since it started, operator new included, in this
// program and in every library it loads. Counted by wrappers that this program puts before the C library's functions;
// they add about a nanosecond to a call and are there in every run. Not counted under a sanitizer, which brings an
// allocator of its own.
AllocationCount ThreadAllocations();
bool AllocationsAreCounted();

}  // namespace strongbin::dbbench
