#include "tests/double/machine/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/double/machine/arena.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory_map.h"
#include "tests/double/machine/races.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kReleased = int64_t{1} << 20;  // zeros of at least this size are not stored

int64_t RoundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

// Finds room for `pages` bytes of pages and the guard pages around them. Starts where the last
// search ended, so that addresses are reused as late as possible. Returns null if there is no room.
char* FindRoom(MemoryMap* map, int part, int64_t pages) {
  char* const begin = Arena() + part * kPartBytes;
  char* const end = begin + kPartBytes;
  for (const bool again : {false, true}) {
    char* at = again ? begin : begin + map->next[part];
    auto block = map->live.lower_bound(at);
    // The previous block may extend beyond `at`.
    if (block != map->live.begin()) at = std::max(at, PagesEnd(std::prev(block)->second.block));
    while (at + pages + 2 * kPageBytes <= end) {
      char* const next = block == map->live.end() ? end : PagesBegin(block->second.block);
      if (at + pages + 2 * kPageBytes <= std::min(next, end)) {
        map->next[part] = at + kPageBytes + pages - begin;
        return at + kPageBytes;
      }
      if (next >= end) break;
      at = PagesEnd(block->second.block);
      ++block;
    }
  }
  return nullptr;
}

void* Allocate(MemoryMap* map, int device, int64_t bytes) {
  const int64_t rounded = RoundUp(bytes, kAlignment);
  const int64_t pages = RoundUp(rounded, kPageBytes);
  char* const at = FindRoom(map, device + 1, pages);
  if (at == nullptr) return nullptr;
  LiveBlock live;
  live.block = {at + pages - rounded, bytes, device, ++map->numbers};
  // Forgets freed blocks whose addresses are reused.
  auto freed = map->freed.lower_bound(at);
  if (freed != map->freed.begin() && PagesEnd(std::prev(freed)->second) > at) --freed;
  while (freed != map->freed.end() && freed->first < at + pages) freed = map->freed.erase(freed);
  map->used[device + 1] += rounded;
  return map->live.emplace(live.block.begin, live).first->second.block.begin;
}

// Reports a changed margin, which means that something wrote outside the block.
void CheckMargins(const Block& block) {
  const auto check = [&](const char* from, const char* to) {
    for (const char* at = from; at < to; ++at) {
      if (static_cast<unsigned char>(*at) == kMargin) continue;
      Fault("bounds", "somebody wrote " + DescribeLocked(TheMemoryMap(), at) +
                          ", found when the block was freed");
    }
  };
  check(PagesBegin(block), block.begin);
  check(block.begin + block.bytes, PagesEnd(block));
}

// Removes the block from the map and returns it.
Block Remove(MemoryMap* map, void* at, bool pinned) {
  const auto found = map->live.find(static_cast<char*>(at));
  if (found == map->live.end() || (found->second.block.device == kPinned) != pinned) {
    Fault("free", std::string(pinned ? "pinned" : "device") + " memory is freed at " +
                      DescribeLocked(*map, at) + ", which no such allocation returned");
  }
  LiveBlock* const live = &found->second;
  const Block block = live->block;
  if (live->filled) {
    Open(live);
    CheckMargins(block);
  }
  Close(live);
  ::madvise(PagesBegin(block), PagesEnd(block) - PagesBegin(block), MADV_DONTNEED);
  map->open.erase(std::remove(map->open.begin(), map->open.end(), block.begin), map->open.end());
  map->used[block.device + 1] -= RoundUp(block.bytes, kAlignment);
  map->freed[block.begin] = block;
  map->live.erase(found);
  return block;
}

void Free(void* at, bool pinned) {
  MemoryMap& map = TheMemoryMap();
  std::unique_lock<std::mutex> lock(map.mutex);
  const Block block = Remove(&map, at, pinned);
  // The access history has its own mutex and describes blocks while holding it, so this mutex must
  // be free.
  lock.unlock();
  ForgetAccesses(PagesBegin(block), PagesEnd(block) - PagesBegin(block));
}

}  // namespace

void* AllocateDevice(int device, int64_t bytes) {
  if (bytes <= 0 || device < 0 || device >= kMostDevices) {
    Fault("memory", std::to_string(bytes) + " bytes of GPU " + std::to_string(device));
  }
  WatchHostAccess();
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  if (++map.device_allocations == TheSettings().fail_malloc) return nullptr;
  const int64_t free = TotalBytes(device) - map.used[device + 1];
  if (bytes > free || RoundUp(bytes, kAlignment) > free) return nullptr;
  return Allocate(&map, device, bytes);
}

void* AllocatePinned(int64_t bytes) {
  if (bytes <= 0) Fault("memory", std::to_string(bytes) + " bytes of pinned memory");
  WatchHostAccess();
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  if (bytes > kPartBytes) return nullptr;
  void* const at = Allocate(&map, kPinned, bytes);
  if (at != nullptr) Open(FindLive(&map, at, bytes));
  return at;
}

void FreeDevice(void* at) { Free(at, false); }
void FreePinned(void* at) { Free(at, true); }

bool FindBlock(const void* at, Block* block) {
  int64_t offset = 0;
  if (!InArena(at, &offset)) return false;
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  const LiveBlock* const live = FindLive(&map, at, 1);
  if (live != nullptr) *block = live->block;
  return live != nullptr;
}

bool IsDeviceAddress(const void* at) {
  int64_t offset = 0;
  return InArena(at, &offset) && offset >= kPartBytes;
}

void CheckInside(const void* at, int64_t bytes, const std::string& what) {
  if (bytes == 0) return;
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  LiveBlock* const live = bytes > 0 ? FindLive(&map, at, bytes) : nullptr;
  if (live == nullptr) {
    Fault("bounds",
          what + " touches " + std::to_string(bytes) + " bytes at " + DescribeLocked(map, at));
  }
  if (map.open_count == 0 || live->open) return;
  Open(live);
  map.open.push_back(live->block.begin);
}

// A program that clears a workspace of many MiB usually accesses little of it, and each page that
// it has accessed costs time whenever its block opens or closes.
void SetBytes(void* at, int value, int64_t bytes) {
  char* const begin = static_cast<char*>(at);
  char* const end = begin + bytes;
  if (value != 0 || bytes < kReleased) {
    std::memset(begin, value, end - begin);
    return;
  }
  char* const first =
      reinterpret_cast<char*>(RoundUp(reinterpret_cast<intptr_t>(begin), kPageBytes));
  char* const last = end - reinterpret_cast<uintptr_t>(end) % kPageBytes;
  std::memset(begin, 0, first - begin);
  ::madvise(first, last - first, MADV_DONTNEED);
  std::memset(last, 0, end - last);
}

std::string Describe(const void* at) {
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  return DescribeLocked(map, at);
}

void SetPeerAccess(int device, int peer, bool enabled) {
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  map.peers[device][peer] = enabled;
}

bool HasPeerAccess(int device, int peer) {
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  return device == peer || map.peers[device][peer];
}

int64_t FreeBytes(int device) {
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  return TotalBytes(device) - map.used[device + 1];
}

int64_t TotalBytes(int) { return TheSettings().memory_mib << 20; }

}  // namespace doppio::gpu_double
