#include "tests/double/machine/touched_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/double/machine/arena.h"
#include "tests/double/machine/cell_states.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/races.h"
#include "tests/double/machine/range_list.h"

namespace doppio::gpu_double {
namespace {

// Information about a page, read from the list of blocks once per kernel.
struct Page {
  uint32_t kernel = 0;          // last kernel that accessed the page
  uint16_t begin = 0, end = 0;  // range of the page's bytes that belong to a block
};

// One cell per byte: the number of the turn that last accessed the byte, and below it the state. A
// turn is the work of a thread between two switches. The numbers continue from kernel to kernel, so
// old cells need not be cleared.
using Cell = uint32_t;
constexpr uint32_t kMostTurns = uint32_t{1} << (32 - kStateBits);
// The last number means that the owner is unknown.
constexpr uint32_t kUnknown = kMostTurns - 1;
struct Turn {
  uint32_t block = 0;
  uint32_t thread : 10, epoch : 22;
};

// If a kernel used more shadow pages than this, they are released after it.
constexpr size_t kKeptPages = 16384;

struct Kernel {
  bool runs = false;
  uint32_t number = 0;
  std::string what;
  int device = 0;
  std::vector<int64_t> pages;  // pages that the kernel accessed
  KernelThread thread;         // thread of the current turn
  uint32_t turn = 0;           // 0: no turn
  uint32_t first_turn = 1;
  Cell first_cell = 0;      // smaller cells belong to older kernels
  std::vector<Turn> turns;  // starts at first_turn
};

const CellStates states;
Kernel kernel;
Page* pages = nullptr;  // one per page of the arena
Cell* cells = nullptr;  // one per byte of the arena

std::string Name(int64_t block, int64_t thread) {
  return "thread " + std::to_string(thread) + " of block " + std::to_string(block);
}

std::string Name(AccessKind kind) {
  if (kind == kRead) return " reads ";
  return kind == kWrite ? " writes " : " atomically updates ";
}

// Checks an access to pages that are new to this kernel, or one that crosses a page or its block.
void Enter(const KernelThread& thread, const char* at, int64_t bytes, AccessKind kind) {
  const std::string who = kernel.what + ": " + Name(thread.block, thread.thread);
  Block block;
  if (!FindBlock(at, &block) || bytes > block.begin + block.bytes - at) {
    Fault("bounds", who + Name(kind) + std::to_string(bytes) + " bytes at " + Describe(at));
  }
  if (block.device != kPinned && !HasPeerAccess(kernel.device, block.device)) {
    Fault("peer", who + " on GPU " + std::to_string(kernel.device) + Name(kind) + Describe(at) +
                      ", and GPU " + std::to_string(kernel.device) +
                      " has no access to that device's memory");
  }
  const char* const arena = Arena();
  const int64_t block_begin = block.begin - arena, block_end = block_begin + block.bytes;
  const int64_t last = (at + bytes - 1 - arena) / kPageBytes;
  for (int64_t n = (at - arena) / kPageBytes; n <= last; ++n) {
    Page& page = pages[n];
    if (page.kernel == kernel.number) continue;
    const int64_t page_begin = n * kPageBytes;
    page.kernel = kernel.number;
    page.begin = std::max<int64_t>(block_begin - page_begin, 0);
    page.end = std::min<int64_t>(block_end - page_begin, kPageBytes);
    kernel.pages.push_back(n);
  }
}

void TakeTurn(const KernelThread& thread) {
  kernel.thread = thread;
  const uint32_t number = kernel.first_turn + kernel.turns.size();
  const bool known = number < kUnknown && thread.block >> 32 == 0 && thread.thread >> 10 == 0 &&
                     thread.epoch >> 22 == 0;
  if (!known) {
    kernel.turn = kUnknown;
    return;
  }
  kernel.turn = number;
  Turn turn;
  turn.block = thread.block;
  turn.thread = thread.thread;
  turn.epoch = thread.epoch;
  kernel.turns.push_back(turn);
}

Relation RelationTo(uint32_t owner) {
  if (owner == kernel.turn || owner == kUnknown || kernel.turn == kUnknown) return kSameThread;
  const Turn& last = kernel.turns[owner - kernel.first_turn];
  const Turn& now = kernel.turns[kernel.turn - kernel.first_turn];
  if (last.block != now.block) return kOtherBlock;
  if (last.epoch != now.epoch) return kOtherEpoch;
  return last.thread == now.thread ? kSameThread : kOtherThread;
}

[[noreturn]] void ReportRace(const char* at, uint32_t owner, uint8_t state, AccessKind kind) {
  const Turn& last = kernel.turns[owner - kernel.first_turn];
  Fault("block-race", kernel.what + ": " + Name(kernel.thread.block, kernel.thread.thread) +
                          Name(kind) + Describe(at) + ", and no barrier orders this after " +
                          Name(last.block, last.thread) + "; in this kernel the byte was" +
                          (states.reads[state] ? " read" : "") +
                          (states.reads[state] && states.writes[state] ? " and" : "") +
                          (states.writes[state] ? " written" : "") + " before");
}

}  // namespace

void BeginKernel(const std::string& what, int device) {
  if (kernel.runs) Fault("kernel", what + " begins while " + kernel.what + " runs");
  Arena();
  if (cells == nullptr) {
    constexpr int kOpen = PROT_READ | PROT_WRITE;
    pages =
        reinterpret_cast<Page*>(ReserveAddresses(kArenaBytes / kPageBytes * sizeof(Page), kOpen));
    cells = reinterpret_cast<Cell*>(ReserveAddresses(kArenaBytes * sizeof(Cell), kOpen));
  }
  kernel.runs = true;
  kernel.what = what;
  kernel.device = device;
  ++kernel.number;
  kernel.turn = 0;
  // Restarts the numbers unless half of them remain for this kernel.
  if (kernel.first_turn > kMostTurns / 2) {
    ::madvise(cells, kArenaBytes * sizeof(Cell), MADV_DONTNEED);
    kernel.first_turn = 1;
  }
  kernel.first_cell = kernel.first_turn << kStateBits;
}

void Touch(const KernelThread& thread, const void* at, int64_t bytes, bool writes, bool atomic) {
  int64_t offset = 0;
  if (!InArena(at, &offset) || !kernel.runs) return;
  const AccessKind kind = atomic ? (writes ? kAtomic : kAtomicLoad) : (writes ? kWrite : kRead);
  const Page& page = pages[offset / kPageBytes];
  const int64_t in_page = offset % kPageBytes;
  if (page.kernel != kernel.number || in_page < page.begin || in_page + bytes > page.end) {
    Enter(thread, static_cast<const char*>(at), bytes, kind);
  }
  if (kernel.turn == 0 || thread.thread != kernel.thread.thread ||
      thread.block != kernel.thread.block || thread.epoch != kernel.thread.epoch) {
    TakeTurn(thread);
  }
  const Cell owner = kernel.turn << kStateBits;
  Cell* const begin = cells + offset;
  Cell* const end = begin + bytes;
  for (Cell* cell = begin; cell < end;) {
    const Cell old = *cell;
    Cell now = owner;
    if (old < kernel.first_cell) {
      now |= states.first[kind];
    } else {
      const uint32_t last = old >> kStateBits;
      const uint8_t state = old % kStates;
      const uint8_t next = states.next[state][RelationTo(last)][kind];
      if (last == kUnknown || kernel.turn == kUnknown) {
        // The owner is unknown from now on, so races with later accesses cannot be detected.
        now = kUnknown << kStateBits | (next == kRace ? states.first[kWrite] : next);
      } else if (next == kRace) {
        ReportRace(static_cast<const char*>(at) + (cell - begin), last, state, kind);
      } else {
        // An atomic load changes the state only if there are no other accesses.
        now = kind == kAtomicLoad && state != 0 ? old : now | next;
      }
    }
    // Most bytes of an access have the same past.
    do {
      *cell++ = now;
    } while (cell < end && *cell == old);
  }
}

std::vector<Access> EndKernel(int64_t* bytes_moved) {
  kernel.runs = false;
  *bytes_moved = 0;
  std::sort(kernel.pages.begin(), kernel.pages.end());
  RangeList list;
  Block block;
  for (int64_t n : kernel.pages) {
    const Page& page = pages[n];
    const char* const memory = Arena() + n * kPageBytes;
    if (memory >= block.begin + block.bytes) {
      list.EndBlock();
      FindBlock(memory + page.begin, &block);
    }
    const Cell* const shadow = cells + n * kPageBytes;
    int64_t moved = 0;
    for (int from = page.begin; from < page.end;) {
      const auto kind_of = [](Cell cell) {
        if (cell < kernel.first_cell) return 0;
        return (states.reads[cell % kStates] ? 1 : 0) + (states.writes[cell % kStates] ? 2 : 0);
      };
      const int kind = kind_of(shadow[from]);
      int to = from + 1;
      while (to < page.end && (shadow[to] == shadow[to - 1] || kind_of(shadow[to]) == kind)) ++to;
      if (kind != 0) list.Add(memory + from, to - from, kind >= 2);
      moved += (kind & 1 ? to - from : 0) + (kind & 2 ? to - from : 0);
      from = to;
    }
    if (IsDeviceAddress(memory)) *bytes_moved += moved;
  }
  list.EndBlock();
  if (kernel.pages.size() > kKeptPages) {
    for (size_t i = 0, behind = 0; i < kernel.pages.size(); i = behind) {
      for (behind = i + 1;
           behind < kernel.pages.size() && kernel.pages[behind] == kernel.pages[behind - 1] + 1;) {
        ++behind;
      }
      ReleaseTouched(Arena() + kernel.pages[i] * kPageBytes, (behind - i) * kPageBytes);
    }
  }
  kernel.first_turn += kernel.turns.size();
  kernel.pages.clear();
  kernel.turns.clear();
  return list.Take();
}

void ReleaseTouched(const void* begin, int64_t bytes) {
  int64_t offset = 0;
  if (cells == nullptr || !InArena(begin, &offset)) return;
  ::madvise(cells + offset, bytes * sizeof(Cell), MADV_DONTNEED);
}

}  // namespace doppio::gpu_double
