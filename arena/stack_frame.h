// Keeps a function in the stacks that profilers see.
#pragma once

namespace strongbin {

// Returned as `return KeepStackFrame(Callee(...))`: there is something to do after the call, so it is no tail call,
// which would take the caller out of the stack.
inline char* KeepStackFrame(char* result) {
  asm volatile("" : "+r"(result));
  return result;
}

}  // namespace strongbin
