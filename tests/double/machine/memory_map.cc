#include "tests/double/machine/memory_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kFilledWhole = int64_t{16} << 20;
constexpr int64_t kFilledEnd = int64_t{1} << 20;

void Protect(const Block& block, int protection) {
  char* const begin = PagesBegin(block);
  if (::mprotect(begin, PagesEnd(block) - begin, protection) != 0) {
    Fault("memory", std::string("mprotect: ") + std::strerror(errno));
  }
}

std::string Name(const Block& block) {
  return "block " + std::to_string(block.number) +
         (block.device == kPinned ? " of pinned memory"
                                  : " of GPU " + std::to_string(block.device)) +
         " (" + std::to_string(block.bytes) + " bytes)";
}

}  // namespace

MemoryMap& TheMemoryMap() {
  static MemoryMap* const map = new MemoryMap;
  return *map;
}

char* PagesBegin(const Block& block) {
  return block.begin - reinterpret_cast<uintptr_t>(block.begin) % kPageBytes;
}

char* PagesEnd(const Block& block) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(block.begin) + block.bytes;
  return block.begin + block.bytes + (kPageBytes - end % kPageBytes) % kPageBytes;
}

LiveBlock* FindLive(MemoryMap* map, const void* at, int64_t bytes) {
  const char* const from = static_cast<const char*>(at);
  const auto behind = map->live.upper_bound(from);
  if (behind == map->live.begin()) return nullptr;
  LiveBlock* const live = &std::prev(behind)->second;
  const int64_t offset = from - live->block.begin;
  if (offset >= live->block.bytes || bytes > live->block.bytes - offset) return nullptr;
  return live;
}

void Open(LiveBlock* live) {
  if (live->open) return;
  const Block& block = live->block;
  Protect(block, PROT_READ | PROT_WRITE);
  live->open = true;
  if (live->filled) return;
  live->filled = true;
  char* const end = block.begin + block.bytes;
  std::memset(PagesBegin(block), kMargin, block.begin - PagesBegin(block));
  std::memset(end, kMargin, PagesEnd(block) - end);
  if (block.bytes <= kFilledWhole) {
    std::memset(block.begin, kPoison, block.bytes);
  } else {
    std::memset(block.begin, kPoison, kFilledEnd);
    std::memset(end - kFilledEnd, kPoison, kFilledEnd);
  }
}

void Close(LiveBlock* live) {
  if (!live->open) return;
  Protect(live->block, PROT_NONE);
  live->open = false;
}

std::string DescribeLocked(const MemoryMap& map, const void* at) {
  int64_t offset = 0;
  if (!InArena(at, &offset)) return at == nullptr ? "a null pointer" : "host memory";
  const char* const from = static_cast<const char*>(at);
  const auto behind = map.live.upper_bound(from);
  if (behind != map.live.begin()) {
    const Block& block = std::prev(behind)->second.block;
    const int64_t byte = from - block.begin;
    if (byte < block.bytes) return Name(block) + " at byte " + std::to_string(byte);
    if (from < PagesEnd(block) + kPageBytes) {
      return std::to_string(byte - block.bytes) + " bytes behind the end of " + Name(block);
    }
  }
  if (behind != map.live.end() && from >= PagesBegin(behind->second.block) - kPageBytes) {
    const Block& block = behind->second.block;
    return std::to_string(block.begin - from) + " bytes in front of " + Name(block);
  }
  const auto freed_behind = map.freed.upper_bound(from);
  if (freed_behind != map.freed.begin()) {
    const Block& block = std::prev(freed_behind)->second;
    if (from < PagesEnd(block)) {
      return "freed " + Name(block) + " at byte " + std::to_string(from - block.begin);
    }
  }
  const int64_t part = offset / kPartBytes;
  return (part == 0 ? std::string("pinned memory") : "memory of GPU " + std::to_string(part - 1)) +
         " that is not allocated";
}

}  // namespace doppio::gpu_double
