// Runs the blocks of a kernel on the calling host thread: blocks in random order, the threads of a
// block one after the other in random order. A thread keeps its stack at a barrier, and the next
// one starts on another stack; a kernel without barriers runs on one stack and never switches.
//
// One kernel at a time runs in the process (machine/streams.h), so the state is global.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_EMULATOR_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_EMULATOR_H_

#include <vector_types.h>

#include <cstdint>
#include <string>

#include "tests/double/machine/races.h"

namespace doppio::gpu_double {

// The thread that runs.
struct Here {
  uint3 thread, block;
  uint3 block_shape, grid_shape;
  KernelThread number;
};
extern Here here;

// Where a barrier is in the source.
struct BarrierSite {
  const char* file;
  int line;
};

// For kernels: waits until all threads of the block are at this barrier. Fault("divergence") if
// some of them are at another one or have ended.
void Barrier(BarrierSite site);

// A function without arguments for each thread, as a pointer to code and one to data.
struct Body {
  void (*call)(const void* data);
  const void* data;
};

// Runs `body` once for each thread of each block. `what` names the kernel in messages; `seed`
// decides the orders. Loads and stores of `body` are watched (hooks.h).
void RunBlocks(const std::string& what, uint3 grid, uint3 block, uint64_t seed, Body body);
// The name of the kernel that runs.
std::string WhatRuns();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_EMULATOR_H_
