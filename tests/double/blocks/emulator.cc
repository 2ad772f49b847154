#include "tests/double/blocks/emulator.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/double/blocks/fiber.h"
#include "tests/double/blocks/hooks.h"
#include "tests/double/blocks/permutation.h"
#include "tests/double/blocks/shared_memory.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {

Here here;

namespace {

struct Waiting {
  Fiber* fiber;
  BarrierSite site;
};

// State of the running block.
struct Running {
  std::string what;
  Body body;
  int threads = 0;
  int started = 0, ended = 0;
  Permutation* order = nullptr;  // order of the threads that have not started
  Fiber* fiber = nullptr;
  std::vector<Waiting> waiting;
};
Running running;

void FiberMain();

FiberPool& Pool() {
  static FiberPool& pool = *new FiberPool(&FiberMain);
  return pool;
}

void StandAt(int thread) {
  const unsigned t = static_cast<unsigned>(thread);
  here.number.thread = thread;
  here.thread.x = t % here.block_shape.x;
  here.thread.y = t / here.block_shape.x % here.block_shape.y;
  here.thread.z = t / here.block_shape.x / here.block_shape.y;
}

// Not inlined, so that FiberMain does not keep the address of a thread_local variable: a reused
// fiber may run on another host thread.
__attribute__((noinline)) void RunThreads() {
  while (running.started < running.threads) {
    ++running.started;
    const int thread = static_cast<int>(running.order->Next());
    running.fiber->thread = thread;
    StandAt(thread);
    in_kernel = true;
    running.body.call(running.body.data);
    in_kernel = false;
    ++running.ended;
  }
}

void FiberMain() {
  for (;;) {
    RunThreads();
    Fiber* fiber = running.fiber;
    Pool().GiveBack(fiber);
    fiber->Pause();
  }
}

void Run(Fiber* fiber) {
  running.fiber = fiber;
  fiber->Resume();
}

std::string Place(BarrierSite site) {
  const char* name = std::strrchr(site.file, '/');
  return std::string(name == nullptr ? site.file : name + 1) + ":" + std::to_string(site.line);
}

bool Same(BarrierSite a, BarrierSite b) {
  return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

void CheckBarrier() {
  const BarrierSite site = running.waiting.front().site;
  const std::string block = running.what + ": block " + std::to_string(here.number.block);
  if (running.ended > 0) {
    Fault("divergence", block + ": " + std::to_string(running.waiting.size()) +
                            " threads wait at the barrier at " + Place(site) + ", and " +
                            std::to_string(running.ended) + " have ended");
  }
  for (const Waiting& other : running.waiting) {
    if (Same(site, other.site)) continue;
    Fault("divergence",
          block + ": thread " + std::to_string(running.waiting.front().fiber->thread) +
              " waits at the barrier at " + Place(site) + ", thread " +
              std::to_string(other.fiber->thread) + " at the one at " + Place(other.site));
  }
}

void RunBlock(Draws* draws) {
  Permutation order(static_cast<uint64_t>(running.threads), draws);
  running.order = &order;
  running.started = running.ended = 0;
  here.number.epoch = 0;
  BeginSharedBlock();
  while (running.started < running.threads) Run(Pool().Take());
  while (!running.waiting.empty()) {
    CheckBarrier();
    ++here.number.epoch;
    PassSharedBarrier();
    const std::vector<Waiting> released = std::move(running.waiting);
    running.waiting.clear();
    Permutation next(released.size(), draws);
    for (size_t i = 0; i < released.size(); ++i) {
      Fiber* fiber = released[next.Next()].fiber;
      StandAt(fiber->thread);
      Run(fiber);
    }
  }
}

}  // namespace

std::string WhatRuns() { return running.what; }

void Barrier(BarrierSite site) {
  if (Planted("barrier-removed")) return;
  if (Planted("barrier-in-loop") && here.number.epoch % 2 == 1) return;
  if (Planted("barrier-divergent") && here.number.thread + 1 == running.threads) return;
  in_kernel = false;
  Fiber* fiber = running.fiber;
  running.waiting.push_back({fiber, site});
  fiber->Pause();
  in_kernel = true;
}

void RunBlocks(const std::string& what, uint3 grid, uint3 block, uint64_t seed, Body body) {
  running.what = what;
  running.body = body;
  running.threads = static_cast<int>(block.x * block.y * block.z);
  here.grid_shape = grid;
  here.block_shape = block;
  Draws draws(seed);
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  Permutation order(blocks, &draws);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t number = order.Next();
    here.number.block = static_cast<int64_t>(number);
    here.block.x = static_cast<unsigned>(number % grid.x);
    here.block.y = static_cast<unsigned>(number / grid.x % grid.y);
    here.block.z = static_cast<unsigned>(number / grid.x / grid.y);
    RunBlock(&draws);
  }
}

}  // namespace doppio::gpu_double
