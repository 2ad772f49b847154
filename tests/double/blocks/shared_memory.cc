#include "tests/double/blocks/shared_memory.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/double/blocks/emulator.h"
#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

// An interval is the time between two barriers. Intervals are numbered over all blocks of the
// process.
uint64_t interval = 1, first_of_block = 1;

constexpr int32_t kSeveral = -1, kAtomics = -2;  // used instead of a thread's index

struct Cell {
  uint64_t written = 0, read = 0;  // last interval with a write or a read
  int32_t writer = 0, reader = 0;
};

constexpr uintptr_t kPage = 4096;
struct Page {
  Cell cells[kPage];
};

Cell& CellOf(uintptr_t at) {
  static auto& pages = *new std::unordered_map<uintptr_t, std::unique_ptr<Page>>();
  static uintptr_t last_number = 0;
  static Page* last = nullptr;
  const uintptr_t number = at / kPage;
  if (last == nullptr || number != last_number) {
    auto& page = pages[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last = page.get();
    last_number = number;
  }
  return last->cells[at % kPage];
}

std::string Thread(int32_t number) {
  if (number == kSeveral) return "several threads";
  return number == kAtomics ? "an atomic operation" : "thread " + std::to_string(number);
}

[[noreturn]] void FaultAt(const char* check, uintptr_t at, const std::string& text) {
  Fault(check, WhatRuns() + ": block " + std::to_string(here.number.block) + ": thread " +
                   std::to_string(here.number.thread) + " " + text + " at byte " +
                   std::to_string(at % kPage) + " of its page of shared memory");
}

void Read(uintptr_t at, Cell* cell, int32_t me) {
  if (cell->written < first_of_block) FaultAt("shared", at, "reads what its block has not written");
  if (cell->written == interval && cell->writer != me) {
    FaultAt("block-race", at,
            "reads what " + Thread(cell->writer) + " wrote, without a barrier in between,");
  }
  cell->reader = cell->read == interval && cell->reader != me ? kSeveral : me;
  cell->read = interval;
}

void Write(uintptr_t at, Cell* cell, int32_t me) {
  if (cell->written == interval && cell->writer != me) {
    FaultAt("block-race", at,
            "writes what " + Thread(cell->writer) + " wrote, without a barrier in between,");
  }
  if (cell->read == interval && cell->reader != me) {
    FaultAt("block-race", at,
            "writes what " + Thread(cell->reader) + " read, without a barrier in between,");
  }
  cell->written = interval;
  cell->writer = me;
}

}  // namespace

void BeginSharedBlock() { first_of_block = ++interval; }
void PassSharedBarrier() { ++interval; }

void NoteShared(const void* at, size_t bytes, SharedAccess access) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
  for (uintptr_t byte = begin; byte < begin + bytes; ++byte) {
    Cell& cell = CellOf(byte);
    if (access == SharedAccess::kRead) {
      Read(byte, &cell, here.number.thread);
    } else {
      Write(byte, &cell, access == SharedAccess::kAtomic ? kAtomics : here.number.thread);
    }
  }
}

}  // namespace doppio::gpu_double
