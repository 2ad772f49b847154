// Runs the blocks of a kernel on the calling host thread. Blocks run in random order, and the
// threads of a block run one after the other in random order. A thread that waits at a barrier
// keeps its stack, and the next thread starts on another stack. A kernel without barriers runs on
// one stack and never switches.
//
// One kernel at a time runs in the process (machine/streams.h), so the state is global.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_EMULATOR_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_EMULATOR_H_

#include <vector_types.h>

#include <cstdint>
#include <string>

#include "tests/double/machine/races.h"

namespace doppio::gpu_double {

// The position and sizes that the running kernel thread sees.
struct Here {
  uint3 thread, block;
  uint3 block_shape, grid_shape;
  KernelThread number;
};
extern Here here;

// Source location of a barrier.
struct BarrierSite {
  const char* file;
  int line;
};

// Waits until all threads of the block are at this barrier. Ends the process with
// Fault("divergence") if some threads are at another barrier or have ended. Called by kernels.
void Barrier(BarrierSite site);

// A function to run for each thread, as a code pointer and a data pointer.
struct Body {
  void (*call)(const void* data);
  const void* data;
};

// Runs `body` once for each thread of each block. `what` names the kernel in messages, and `seed`
// determines the orders. The loads and stores of `body` are checked (hooks.h).
void RunBlocks(const std::string& what, uint3 grid, uint3 block, uint64_t seed, Body body);
// Returns the name of the running kernel.
std::string WhatRuns();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_EMULATOR_H_
