// Keeps a function in the stacks that profilers see.
#pragma once

namespace strongbin {

// Called between a function's last call and its return: there is something left to do after that call, so it is no tail
// call, which would take the caller out of the stack. Costs no instruction.
inline void KeepStackFrame() { asm volatile("" ::: "memory"); }

}  // namespace strongbin
