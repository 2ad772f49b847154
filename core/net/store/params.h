// The learnable blobs of a run in flat arenas: values, and gradients of the net that trains. Nets
// of one run (train and test) find their parameters here by layer name, so they share them.
//
// Arena order is the order in which backward finishes the parameters, so that a bucket of gradients
// is a slice, the clipping norm one reduction and an update one pass. params() is in Caffe's order
// (that of the layers). Where each gradient is used up as soon as it is complete, gradients share
// memory instead (Allocate's `lives`).
#ifndef DOPPIO_CORE_NET_STORE_PARAMS_H_
#define DOPPIO_CORE_NET_STORE_PARAMS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/device/arena.h"
#include "core/device/device.h"
#include "core/net/graph/graph.h"
#include "core/tensor/tensor.h"

namespace doppio {

struct Param {
  std::string layer;  // owner's name
  int index = 0;      // among the owner's parameters
  Shape shape;
  FillerParameter filler;
  bool trainable = true;  // false: statistics; solvers see lr_mult 0
  float lr_mult = 1, decay_mult = 1;
  bool gradient = false;  // backward computes one
  SourceLoc at;

  Tensor value, grad;       // grad.raw == nullptr outside the training net
  int64_t offset = 0;       // of value in values(), in elements
  int64_t grad_offset = 0;  // of grad in grads(): the same, unless gradients share memory
};

struct ParamBytes {
  int64_t values = 0, grads = 0;
  int64_t unpadded = 0;  // `values` without the padding of layouts and the alignment of parameters
};

class ParamStore {
 public:
  ParamStore(Device* device, DType dtype, uint64_t seed)
      : device_(device), dtype_(dtype), seed_(seed) {}

  // The store's index of each of graph.params: found by (layer, index) with an equal shape, else
  // added. A parameter that exists with another shape is the user's mistake.
  std::vector<int> Resolve(const Graph& graph);
  // A parameter that was added keeps `layout` (only before Allocate).
  void SetLayout(int param, const Layout& layout);
  bool placed(int param) const { return params_[static_cast<size_t>(param)].value.raw != nullptr; }
  // Decides where what was added since the last Allocate will lie, and says how much memory that
  // takes. With gradients: in arenas that SGD runs over, ordered by `finish_order` (indices of
  // params()); without: test-only parameters. `lives`, where given, says for each of finish_order
  // when its gradient is in use (`bytes` is filled in here): gradients that are never in use
  // together share memory, and parameters without gradient have no memory for one. Allocate must
  // follow; without it the store is of no more use.
  ParamBytes Place(bool gradients, const std::vector<int>& finish_order,
                   std::vector<Lifetime> lives = {});
  // Gives memory to what was placed and fills it with initial values.
  void Allocate();

  const std::vector<Param>& params() const { return params_; }
  Param& param(int i) { return params_[static_cast<size_t>(i)]; }
  Device* device() const { return device_; }
  DType dtype() const { return dtype_; }

  // The arenas of the training net; gaps are zero, unless gradients share memory. values() and
  // every slot of history have arena_size() elements.
  Tensor values() const { return Arena(values_); }
  Tensor grads() const { return Arena(grads_); }
  int64_t arena_size() const { return arena_size_; }
  // The part of values() where layers of the training net keep what they count themselves
  // (BatchNorm's running mean).
  Tensor statistics() const;
  // Each gradient is gone once the next ones are computed.
  bool gradients_share_memory() const { return gradients_share_memory_; }
  // Parameters that lie in the arenas, in Caffe's order: what solvers update and snapshots keep
  // history for.
  const std::vector<int>& learnable() const { return learnable_; }

 private:
  Tensor Arena(const Buffer& buffer) const {
    return Tensor({Shape{buffer.bytes() / ElementBytes(dtype_)}, dtype_, Layout()}, buffer.data());
  }
  void PlaceValues(const std::vector<int>& order);
  void PlaceGradients(const std::vector<int>& order, std::vector<Lifetime> lives);
  void AllocateArenas();
  void Fill(Param* param);

  Device* device_;
  DType dtype_;
  uint64_t seed_;
  std::vector<Param> params_;
  std::map<std::pair<std::string, int>, int> by_layer_;
  std::vector<int> learnable_;
  std::vector<int> added_;        // by the last Place
  std::vector<int> arena_order_;  // the first `with_grads_` of them have memory for gradients
  size_t with_grads_ = 0;
  size_t statistics_end_ =
      0;  // in arena_order_: after those with gradients come the statistics, then the rest
  Buffer values_, grads_;
  std::vector<Buffer> others_;
  int64_t arena_size_ = 0, grads_bytes_ = 0;
  bool gradients_share_memory_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PARAMS_H_
