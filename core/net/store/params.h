// The parameters of a run in flat arenas: one for values, and one for the gradients of the net in
// training. All nets of a run (train and test) look up their parameters here by layer name, and so
// share them.
//
// The arenas are ordered as backward completes the parameters, so that a bucket of gradients is a
// slice, the clipping norm is one reduction, and an update is one pass. params() has Caffe's order,
// which is the order of the layers. If each gradient is used up as soon as it is complete,
// gradients share memory instead (`lives` of Place).
#ifndef DOPPIO_CORE_NET_STORE_PARAMS_H_
#define DOPPIO_CORE_NET_STORE_PARAMS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/device/arena.h"
#include "core/device/device.h"
#include "core/net/graph/graph.h"
#include "core/tensor/tensor.h"

namespace doppio {

// What a further device of a replicated layer computes with: the layer's parameter, and a gradient
// of its own.
struct ParamReplica {
  Device* device = nullptr;
  // The parameter's own value, or a copy on the device: if the device has memory of its own, and of
  // statistics, which the layers of several devices would otherwise update at the same time.
  Tensor value;
  Tensor grad;  // grad.raw is null if the parameter has no gradient
};

// One parameter blob. Its owner is the first layer that uses it.
struct Param {
  std::string layer;  // name of the owner
  int index = 0;      // index among the owner's parameters
  Shape shape;
  FillerParameter filler;
  bool trainable = true;  // false for statistics, whose lr_mult is 0
  bool updated = false;   // GraphParam
  float lr_mult = 1, decay_mult = 1;
  bool gradient = false;  // backward computes a gradient
  SourceLoc at;

  int arena = 0;       // index of the arenas with `value` and `grad`
  Tensor value, grad;  // grad.raw is null outside the training net
  int64_t offset = 0;  // offset of value in values(), in elements
  // Offset of grad in grads(), in elements; equals `offset` unless gradients share memory.
  int64_t grad_offset = 0;
  // Elements of grad that have memory at the same time; 0: all.
  int64_t grad_slice = 0;
  std::vector<ParamReplica> replicas;  // of the layer's devices after the first

  // Return what device number `replica` of the layer's devices computes with.
  const Tensor& ValueOf(int replica) const {
    return replica == 0 ? value : replicas[replica - 1].value;
  }
  const Tensor& GradientOf(int replica) const {
    return replica == 0 ? grad : replicas[replica - 1].grad;
  }
};

// The memory of parameters and gradients in bytes.
struct ParamBytes {
  int64_t values = 0, grads = 0;
  int64_t unpadded = 0;  // `values` without the padding of layouts and the alignment of parameters
  // The part of `values` and `grads` that replicas of parameters have.
  int64_t replica_values = 0, replica_grads = 0;
};

// The arenas of one device.
struct ParamArena {
  Device* device = nullptr;
  Buffer values, grads;
  int64_t size = 0;  // elements of the values, and of each slot of history
  int64_t grads_bytes = 0;
  int64_t gradients_end = 0;  // the element at which the parameters with a gradient end
  // Receives the gradients of replicas that other devices have in memory of their own, one after
  // the other.
  int64_t incoming_bytes = 0;
  Buffer incoming;
};

// Owns the parameters of a run and their memory: on one device, unless a plan places layers on
// several devices that do not share the host's memory (SetDevice). Not thread-safe.
class ParamStore {
 public:
  ParamStore(Device* device, DType dtype, uint64_t seed) : dtype_(dtype), seed_(seed) {
    SetDevice(-1, device);
  }

  // Returns the store's index of each parameter in graph.params. Finds a parameter by layer name
  // and index, and adds the parameter if it is missing. Throws UserError if an existing parameter
  // has another shape.
  std::vector<int> Resolve(const Graph& graph);
  // Sets the device of a parameter that was added but not yet allocated. The default is the store's
  // device.
  void SetDevice(int param, Device* device);
  // Gives the parameter a replica for each of `devices`, which compute its layer beside the
  // parameter's device. The parameter was added but not yet allocated.
  void SetReplicas(int param, const std::vector<Device*>& devices);
  // Sets the layout of a parameter that was added but not yet allocated.
  void SetLayout(int param, const Layout& layout);
  // Gives the gradient of a parameter that is not yet placed memory only for a slice of `elements`
  // elements, if gradients share memory.
  void SetGradientSlice(int param, int64_t elements) { params_[param].grad_slice = elements; }
  // Returns true if the parameter has memory.
  bool placed(int param) const { return params_[param].value.raw != nullptr; }
  // Computes the offsets of the parameters added since the last Allocate, and returns the bytes
  // they need. If `gradients` is true, they are placed in arenas ordered by `finish_order` (indices
  // of params()), over which solvers run; otherwise they are test-only parameters. `lives` may be
  // empty; otherwise it has, for each element of finish_order, the times at which its gradient is
  // in use (Place fills in `bytes`). Gradients that are never in use at the same time then share
  // memory, and parameters without a gradient get no memory for one. Call Allocate next; until then
  // the store cannot be used.
  ParamBytes Place(bool gradients, const std::vector<int>& finish_order,
                   std::vector<Lifetime> lives = {});
  // Allocates memory for the placed parameters and, if `fill` is true, fills it with initial
  // values. Otherwise the memory is zero.
  void Allocate(bool fill = true);
  // Returns the bytes that Allocate will allocate on `device` for the arenas and replicas, without
  // `unpadded`.
  ParamBytes BytesToAllocate(const Device* device) const;
  // Copies the values of parameters to the replicas that have copies. Call before forward.
  void CopyToReplicas() const;
  // Adds the gradients of replicas to those of the parameters, in the order of the devices. The
  // devices must have finished backward.
  void AddReplicaGradients() const;

  const std::vector<Param>& params() const { return params_; }
  Param& param(int i) { return params_[i]; }
  Device* device() const { return arenas_[0].device; }
  Device* device_of(const Param& param) const { return arenas_[param.arena].device; }
  DType dtype() const { return dtype_; }

  // The arenas of the training net, one for each device. The padding between parameters is zero; in
  // gradients that share memory it is undefined.
  const std::vector<ParamArena>& arenas() const { return arenas_; }
  // The arenas of the store's device. values() and each slot of history have arena_size() elements.
  Tensor values(size_t arena = 0) const { return Arena(arenas_[arena].values); }
  Tensor grads(size_t arena = 0) const { return Arena(arenas_[arena].grads); }
  int64_t arena_size() const { return arenas_[0].size; }
  // Returns the element of the arenas at which the parameters with a gradient end.
  int64_t gradients_end() const { return arenas_[0].gradients_end; }
  // Returns the part of values() that holds the statistics that layers of the training net update
  // themselves (BatchNorm's running mean).
  Tensor statistics() const;
  // Returns true if several devices compute with one of the parameters.
  bool has_replicas() const { return !replicas_.empty(); }
  // Returns true if computing a gradient may overwrite earlier ones.
  bool gradients_share_memory() const { return gradients_share_memory_; }
  // Returns the parameters in the arenas, in Caffe's order. Solvers update them, and snapshots save
  // their history.
  const std::vector<int>& learnable() const { return learnable_; }

 private:
  Tensor Arena(const Buffer& buffer) const {
    return Tensor({Shape{buffer.bytes() / ElementBytes(dtype_)}, dtype_, Layout()}, buffer.data());
  }
  void PlaceValues(const std::vector<int>& order);
  void PlaceGradients(const std::vector<int>& order, std::vector<Lifetime> lives);
  void PlaceIncoming();
  void AddReplicaBytes(const Device* device, ParamBytes* bytes) const;
  void AllocateReplicas();
  void AllocateArenas();
  void Fill(Param* param);

  std::vector<ParamArena> arenas_;
  DType dtype_;
  uint64_t seed_;
  std::vector<Param> params_;
  std::map<std::pair<std::string, int>, int> by_layer_;
  std::vector<int> learnable_;
  std::vector<int> added_;        // parameters added by the last Place
  std::vector<int> arena_order_;  // the first `with_grads_` parameters have memory for gradients
  size_t with_grads_ = 0;
  // End of the statistics in arena_order_. The order is: parameters with gradients, statistics, all
  // others.
  size_t statistics_end_ = 0;
  std::vector<Buffer> others_, replicas_;
  bool placed_ = false, allocated_ = false;  // the arenas are
  bool gradients_share_memory_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PARAMS_H_
