// What a net needs of its device's memory: known before any of it is asked for, so that what cannot
// fit is refused with all the numbers instead of failing somewhere on the way.
#ifndef DOPPIO_CORE_NET_MEMORY_NEED_H_
#define DOPPIO_CORE_NET_MEMORY_NEED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/device/arena.h"
#include "core/device/device.h"

namespace doppio {

// What `summary`, `--dry_run` and the first log lines say. Bytes.
struct MemoryUse {
  int64_t params = 0, param_grads = 0;  // of parameters that no net before has brought
  int64_t unpadded_params = 0;          // `params` without padding
  int64_t history = 0;                  // of the solver, which asks for it after the nets
  int64_t exchange = 0;                 // of what carries gradients to other ranks, likewise
  int64_t activations = 0;              // the arena: values, gradients, saved memory, with sharing
  int64_t unshared = 0;                 // the same without sharing
  int64_t scratch = 0;

  int64_t now() const { return params + param_grads + activations + scratch; }
  int64_t total() const { return now() + history + exchange; }
};

// The device has less than a net needs.
class MemoryShortage : public MemoryError {
 public:
  MemoryShortage(const std::string& message, const MemoryUse& use)
      : MemoryError(message), use_(use) {}
  const MemoryUse& use() const { return use_; }

 private:
  MemoryUse use_;
};

// Bounds of the largest batch that fits: `least` rows fit, and more than `most` rows do not.
struct FittingBatch {
  int64_t least = 0, most = 0;
};

struct MemoryNeed : MemoryUse {
  std::string net;  // "train net LeNet"
  bool backward = false;
  int64_t batch = 0;             // rows; 0: it has none
  std::vector<Lifetime> blocks;  // of the arena

  // Returns bounds of the largest batch below `batch` that needs at most `free` bytes; 0 if none
  // does. Parameters, and blocks that the batch does not divide, are assumed to keep their size.
  // Scratch that the batch does not divide separates the bounds, because only the library knows how
  // it grows: `least` assumes that it keeps its size, `most` that it vanishes.
  FittingBatch LargestBatch(int64_t free) const;
  // Throws MemoryShortage when the net needs more than `free` bytes of the device; negative: nobody
  // knows.
  void CheckFits(int64_t free, const Device& device) const;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_MEMORY_NEED_H_
