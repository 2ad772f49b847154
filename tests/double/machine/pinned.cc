// Checks pinned memory between the call of a copy and the copy itself.
#include <cstring>

#include "tests/double/machine/memory.h"
#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kWhole = 1 << 20;  // up to this size, every byte is checked
constexpr int64_t kPiece = 64;

uint64_t Mix(uint64_t sum, const char* at, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at + i, static_cast<size_t>(std::min<int64_t>(8, bytes - i)));
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 29;
  }
  return sum;
}

bool Overlaps(const Access& access, const HostRange& range) {
  const char* at = static_cast<const char*>(access.at);
  return at < range.at + range.bytes && range.at < at + access.bytes;
}

// Returns true if unfinished work of `item` other than node `but_node` accesses `range`. Work that
// reports its accesses only when it runs (kernels) is assumed not to access pinned memory.
bool ItemTouches(const Item& item, int but_node, const HostRange& range, bool writes_only) {
  for (size_t i = 0; i < item.states.size(); ++i) {
    if (static_cast<int>(i) == but_node || item.states[i].done) continue;
    for (const Access& access : item.plan->nodes[i].task->work.accesses) {
      if ((access.writes || !writes_only) && Overlaps(access, range)) return true;
    }
  }
  return false;
}

bool QueuedWorkTouches(const HostRange& range, bool writes_only) {
  for (const Stream* stream : TheMachine().streams) {
    for (const std::shared_ptr<Item>& item : stream->queue) {
      if (ItemTouches(*item, -1, range, writes_only)) return true;
    }
  }
  return false;
}

}  // namespace

uint64_t ChecksumOf(const HostRange& range) {
  if (range.bytes <= kWhole) return Mix(1, range.at, range.bytes);
  uint64_t sum = 1;
  const int64_t pieces = kWhole / kPiece;
  for (int64_t i = 0; i < pieces; ++i) {
    sum = Mix(sum, range.at + (range.bytes - kPiece) * i / (pieces - 1), kPiece);
  }
  return sum;
}

void PreparePinned(Item* item) {
  for (size_t i = 0; i < item->states.size(); ++i) {
    const Task& task = *item->plan->nodes[i].task;
    const int node = static_cast<int>(i);
    // If queued work may still legally write the source, its current bytes cannot be checked.
    if (task.source.bytes > 0 && !QueuedWorkTouches(task.source, true) &&
        !ItemTouches(*item, node, task.source, true)) {
      item->states[i].checked = true;
      item->states[i].checksum = ChecksumOf(task.source);
    }
    // Queued work may still read the old bytes.
    if (task.destination.bytes > 0 && !QueuedWorkTouches(task.destination, false) &&
        !ItemTouches(*item, node, task.destination, false)) {
      std::memset(task.destination.at, kPoison, static_cast<size_t>(task.destination.bytes));
    }
  }
}

}  // namespace doppio::gpu_double
