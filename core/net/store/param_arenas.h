// The memory of the training net's parameters: on each device, an arena of values and one of
// gradients. Both are ordered as backward completes the parameters, so that a bucket of gradients
// is a slice, the clipping norm is one reduction, and an update is one pass. If each gradient is
// used up as soon as it is complete, gradients share memory instead (`lives` of Place).
#ifndef DOPPIO_CORE_NET_STORE_PARAM_ARENAS_H_
#define DOPPIO_CORE_NET_STORE_PARAM_ARENAS_H_

#include <cstdint>
#include <vector>

#include "core/device/arena.h"
#include "core/device/device.h"
#include "core/net/store/param.h"
#include "core/tensor/tensor.h"

namespace doppio {

// The arenas of one device. Parameters with a gradient come first, then the statistics that layers
// of the training net update themselves (BatchNorm's running mean), then all others.
struct ParamArena {
  Device* device = nullptr;
  Buffer values, grads;
  std::vector<int> params;  // by offset
  int64_t size = 0;         // elements of the values, and of each slot of history
  int64_t grads_bytes = 0;
  // Elements at which the parameters with a gradient and the statistics end.
  int64_t gradients_end = 0, statistics_end = 0;
};

// The order of calls is Place, Allocate, and then any other. The padding between parameters is
// zero; in gradients that share memory it is undefined. Not thread-safe.
class ParamArenas {
 public:
  // The first arenas are on `device`; values(), grads() and statistics() return those.
  ParamArenas(Device* device, DType dtype) : dtype_(dtype) { IndexOn(device); }

  // Returns the index of the arenas on `device` (Param::arena). Adds empty ones if there are none.
  int IndexOn(Device* device);
  // Computes the offsets of the parameters `added`, indices of `params`, in their arenas.
  // `finish_order` has those with a gradient, as backward completes them. `lives` may be empty;
  // otherwise it has, for each element of finish_order, the times at which its gradient is in use
  // (Place fills in `bytes`). Gradients that are never in use at the same time then share memory,
  // and parameters without a gradient get no memory for one.
  void Place(const std::vector<int>& added, const std::vector<int>& finish_order,
             std::vector<Lifetime> lives, std::vector<Param>* params);
  // Allocates zeroed memory for the parameters that Place has placed, unless they have it.
  void Allocate(std::vector<Param>* params);
  // Adds the bytes that Allocate will allocate on `device`, or on all devices if it is null.
  void AddBytes(const Device* device, ParamBytes* bytes) const;

  const std::vector<ParamArena>& all() const { return arenas_; }
  const ParamArena& operator[](size_t arena) const { return arenas_[arena]; }
  Tensor values() const { return Whole(arenas_[0].values); }
  Tensor grads() const { return Whole(arenas_[0].grads); }
  Tensor statistics() const;
  // Returns true if computing a gradient may overwrite earlier ones.
  bool gradients_share_memory() const { return gradients_share_memory_; }

 private:
  void PlaceValues(const std::vector<int>& order, std::vector<Param>* params);
  void ShareGradients(const std::vector<int>& finish_order, std::vector<Lifetime> lives,
                      std::vector<Param>* params);
  Tensor Whole(const Buffer& buffer) const {
    return Tensor({Shape{buffer.bytes() / ElementBytes(dtype_)}, dtype_, Layout()}, buffer.data());
  }

  std::vector<ParamArena> arenas_;
  DType dtype_;
  bool gradients_share_memory_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PARAM_ARENAS_H_
