// What a net needs of its device's memory: known before any of it is asked for, so that what cannot
// fit is refused with all the numbers instead of failing somewhere on the way.
#ifndef DOPPIO_CORE_NET_PLAN_MEMORY_NEED_H_
#define DOPPIO_CORE_NET_PLAN_MEMORY_NEED_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.h"
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

struct MemoryNeed : MemoryUse {
  std::string net;  // "train net LeNet"
  bool backward = false;
  int64_t batch = 0;  // rows; 0: it has none
  // Plans the same net with so many rows, and returns the bytes of its activations and scratch.
  // Throws Error where the net takes no such batch. Empty: unknown. Not to be called once the net's
  // graph is gone.
  std::function<int64_t(int64_t rows)> at_batch;

  // Returns a batch below `batch` that needs at most `free` bytes, while one that is larger by a
  // sixteenth needs more; 0 if not even 1 row fits, nothing where that cannot be known. Found by
  // planning a few batches: kernels choose their scratch and padding by the batch.
  std::optional<int64_t> LargestBatch(int64_t free) const;
  // Throws MemoryShortage when the net needs more than `free` bytes of the device; negative: nobody
  // knows.
  void CheckFits(int64_t free, const Device& device) const;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_MEMORY_NEED_H_
