// The device memory that a net needs. It is known before any of it is allocated, so that a net that
// cannot fit is rejected with all its numbers instead of failing during allocation.
#ifndef DOPPIO_CORE_NET_PLAN_MEMORY_NEED_H_
#define DOPPIO_CORE_NET_PLAN_MEMORY_NEED_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/device/device.h"

namespace doppio {

// Memory in bytes, as printed by `summary`, `--dry_run` and the first log lines.
struct MemoryUse {
  int64_t params = 0, param_grads = 0;  // parameters that no earlier net has placed
  int64_t unpadded_params = 0;          // `params` without padding
  // The part of `params` and `param_grads` that further devices of replicated layers have.
  int64_t replica_params = 0, replica_grads = 0;
  int64_t history = 0;        // the solver's history and its scratch memory, allocated after the
                              // nets; if ranks divide it, about the share of one rank
  int64_t whole_history = 0;  // the history of all parameters
  int64_t exchange = 0;     // buffers that carry gradients to other ranks, allocated after the nets
  int64_t activations = 0;  // the arena: values, gradients and saved memory; blocks may share bytes
  int64_t unshared = 0;     // `activations` if no blocks shared bytes
  int64_t scratch = 0;
  int64_t kept = 0;  // what kernels keep from pass to pass (KernelNeeds::kept_bytes)

  // Returns the bytes that the plan and its kernels allocate.
  int64_t now() const { return params + param_grads + activations + scratch + kept; }
  // Returns `now()` plus the bytes that the solver and the exchange will allocate.
  int64_t total() const { return now() + history + exchange; }
};

// The device has less memory than a net needs.
class MemoryShortage : public MemoryError {
 public:
  MemoryShortage(const std::string& message, const MemoryUse& use)
      : MemoryError(message), use_(use) {}
  const MemoryUse& use() const { return use_; }

 private:
  MemoryUse use_;
};

// The memory of one net, and a way to find the batch that fits.
struct MemoryNeed : MemoryUse {
  std::string net;  // for messages: "train net LeNet"
  bool backward = false;
  int64_t batch = 0;  // rows; 0 if the net has no batch
  // Plans the same net with `rows` rows and returns the bytes of its activations, scratch memory
  // and what its kernels keep. Throws Error if the net cannot have such a batch. Empty if unknown.
  // Must not be called after the net's graph is destroyed.
  std::function<int64_t(int64_t rows)> at_batch;

  // Returns a batch smaller than `batch` that needs at most `free` bytes, while a batch about one
  // sixteenth larger needs more. Returns 0 if not even one row fits, nullopt if the answer is
  // unknown. Plans up to 20 batches, because kernels choose their scratch memory and padding by the
  // batch.
  std::optional<int64_t> LargestBatch(int64_t free) const;
  // Throws MemoryShortage if the net needs more than `free` bytes of the device. A negative `free`
  // means unknown.
  void CheckFits(int64_t free, const Device& device) const;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_MEMORY_NEED_H_
