// The list of blocks behind memory.h, for memory.cc and host_access.cc.
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
  bool open = false;    // accessible now
  bool filled = false;  // with poison: at the first opening, so that unused blocks take no memory
};

// The process's blocks. Nobody who holds `mutex` touches memory that is closed, so that the handler
// of SIGSEGV may lock it.
struct MemoryMap {
  std::mutex mutex;
  std::map<const char*, LiveBlock> live;  // by begin
  std::map<const char*, Block> freed;     // whose addresses are not used again yet
  int64_t numbers = 0;                    // of blocks so far
  int64_t device_allocations = 0;         // also failed ones
  int64_t next[kParts] = {};              // where in the part the search for room goes on
  int64_t used[kParts] = {};              // bytes that live blocks take of the device
  bool peers[kMostDevices][kMostDevices] = {};
  int open_count = 0;             // OpenMemory objects
  std::vector<const char*> open;  // device blocks that are open
};

MemoryMap& TheMemoryMap();

// The functions below are for holders of the lock.
// The live block of which [at, at + bytes) is a part, or null.
LiveBlock* FindLive(MemoryMap* map, const void* at, int64_t bytes);
// Makes the block's pages accessible, and fills them the first time.
void Open(LiveBlock* live);
// Makes the block's pages inaccessible.
void Close(LiveBlock* live);
std::string DescribeLocked(const MemoryMap& map, const void* at);

// The pages of a block: the block and its margins.
char* PagesBegin(const Block& block);
char* PagesEnd(const Block& block);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_MAP_H_
