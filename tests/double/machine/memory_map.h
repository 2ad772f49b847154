// The list of blocks behind memory.h. For memory.cc and host_access.cc only.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_MAP_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_MAP_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "tests/double/machine/arena.h"
#include "tests/double/machine/memory.h"

namespace doppio::gpu_double {

struct LiveBlock {
  Block block;
  bool open = false;  // currently accessible
  bool filled =
      false;  // with poison; filled at the first opening, so that unused blocks take no memory
};

// The blocks of the process. A thread that holds `mutex` must not access closed memory, so that the
// SIGSEGV handler can lock the mutex.
struct MemoryMap {
  std::mutex mutex;
  std::map<const char*, LiveBlock> live;  // by start address
  std::map<const char*, Block> freed;     // freed blocks whose addresses are not reused yet
  int64_t numbers = 0;                    // number of allocations so far
  int64_t device_allocations = 0;         // including failed ones
  int64_t next[kParts] = {};  // position in each part where the next search for room starts
  int64_t used[kParts] = {};  // bytes of live blocks in each part
  bool peers[kMostDevices][kMostDevices] = {};
  int open_count = 0;             // number of OpenMemory objects
  std::vector<const char*> open;  // open blocks of device memory
};

MemoryMap& TheMemoryMap();

// The functions below require the lock.
//
// Returns the live block that contains [at, at + bytes), or null.
LiveBlock* FindLive(MemoryMap* map, const void* at, int64_t bytes);
// Makes the block's pages accessible. Fills them the first time.
void Open(LiveBlock* live);
// Makes the block's pages inaccessible.
void Close(LiveBlock* live);
std::string DescribeLocked(const MemoryMap& map, const void* at);

// The bounds of the block's pages, which include its margins.
char* PagesBegin(const Block& block);
char* PagesEnd(const Block& block);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_MAP_H_
