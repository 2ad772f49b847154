// What computes a layer on a device. Nothing here knows protobuf, so that nvcc compiles kernels,
// too.
//
// Life of a layer: infer (core/net/graph/layer.h) -> the best kernel that does not decline is
// constructed (plan) -> memory is placed -> Bind once -> Forward / Backward many times. Nothing is
// allocated after Bind.
#ifndef DOPPIO_CORE_NET_PLAN_KERNEL_H_
#define DOPPIO_CORE_NET_PLAN_KERNEL_H_

#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

struct LayerShape;  // core/net/graph/layer.h
struct LayerSpec;   // core/net/spec/spec.h
class Communicator;
class SumsInStream;  // core/net/run/communicator.h

// The struct that `infer` of a layer type has made. Fails where it has made another one.
template <class T>
const T& FormAs(const std::any* form, const std::string& type) {
  const T* typed = form == nullptr ? nullptr : std::any_cast<T>(form);
  DOPPIO_CHECK(typed != nullptr, "layer type " + type + " has no such form");
  return *typed;
}

// What changes from call to call.
struct Pass {
  uint64_t step =
      0;  // forward passes of this net before this one, over all iterations (iter_size counts)
  int rank = 0, ranks = 1;
  // Of ranks whose batches are parts of one big batch, over which losses are normalised; null: this
  // batch is whole.
  Communicator* group = nullptr;
  // Sums over the same ranks in the memory of an accelerator. Null where only `group` can sum.
  SumsInStream* sums = nullptr;
  // This Forward repeats one of this step, because backward needs its results once more: what it
  // writes to tops and `saved` is the same again, and what else it would change (running
  // statistics) it leaves alone.
  bool again = false;

  // The global index of row 0 of a batch of `batch` rows: the key of per-sample random numbers.
  uint64_t FirstSample(int64_t batch) const {
    return (step * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank)) *
           static_cast<uint64_t>(batch);
  }
};

// A layer of a chain (core/net/plan/fusion.h).
struct ChainLink {
  std::string type;
  const std::any* form = nullptr;  // LayerShape::form of this layer alone
  int input = 0;  // which of its bottoms the link before makes; of no meaning in the head
  const LayerSpec* spec = nullptr;
  const LayerShape* shape = nullptr;  // of this layer alone

  template <class T>
  const T& Form() const {
    return FormAs<T>(form, type);
  }
};

// All that is known when a kernel is made. For a chain (core/net/plan/fusion.h) layer, type, at and
// spec are the head's, the rest the chain's.
struct KernelArgs {
  std::string layer;  // its name
  std::string type;
  SourceLoc at;                    // where the layer is written
  bool train = false;              // phase TRAIN
  uint64_t seed = 0;               // of the net's random numbers
  const std::any* form = nullptr;  // LayerShape::form
  std::vector<Shape> top_shapes, param_shapes;

  // The struct that the layer's `infer` has made.
  template <class T>
  const T& Form() const {
    return FormAs<T>(form, type);
  }

  const LayerSpec* spec = nullptr;
  const LayerShape* shape = nullptr;
  const std::vector<ChainLink>* chain = nullptr;  // null for a layer alone
  DType dtype = DType::kFloat32;                  // of parameters, and what is computed in
  MathMode math = MathMode::kFloat32;             // how exact products are to be
  Device* device = nullptr;
  std::vector<TensorSpec> bottoms;    // with the type and layout they have where they are made
  std::vector<DType> tops;            // the types that tops are to be stored as
  std::vector<Layout> param_layouts;  // of parameters already placed by another layer or net
  std::vector<bool> param_placed;     // whether param_layouts[i] is binding
  bool backward = false;              // whether Backward will be called
  std::vector<bool> bottom_gradient;  // which bottoms need a gradient
  std::vector<bool> param_gradient;   // which parameters need one
  std::vector<bool> param_may_add;    // whether Backward may be told to add to it
  // The statistics of a batch (BatchNorm), too, are those of the big batch that Pass::group makes:
  // passes then talk to others.
  bool sync_statistics = false;
};

// What a kernel asks of the plan. Defaults: everything plain, no extra memory.
struct KernelNeeds {
  // Layouts it wants; the plan inserts reorders. Gradients have the same ones.
  std::vector<Layout> bottoms;
  std::vector<DType> types;  // of bottoms it wants (narrow kernels), likewise; empty: as they are
  std::vector<Layout> tops;  // layouts it makes
  // Layouts it wants for params not placed yet (gradient and history follow).
  std::vector<Layout> params;
  int64_t saved_bytes = 0;  // memory from its Forward to its Backward (masks, indices, workspaces)
  int64_t scratch_bytes = 0;  // memory within one call, shared by all layers
};

// Memory, fixed from Bind on. Absent gradients have raw == nullptr.
struct KernelTensors {
  std::vector<Tensor> bottoms, tops, params;
  std::vector<Tensor> bottom_grads, top_grads, param_grads;
  void* saved = nullptr;
  void* scratch = nullptr;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  const KernelNeeds& needs() const { return needs_; }

  // Called once, after memory is placed; override to build what needs addresses, calling the base
  // first.
  virtual void Bind(KernelTensors tensors) { t_ = std::move(tensors); }
  virtual void Forward(const Pass& pass) = 0;
  // Writes bottom gradients (whole, never adds). Parameter gradients: adds where add[i], else
  // writes. Only called when args.backward.
  virtual void Backward(const Pass& pass, const std::vector<bool>& add);

  // Forward, and Backward for equal `add`, ask the same of the device in every pass, and nothing
  // else of anybody: so a device may record and repeat them (Device::Record).
  virtual bool same_every_pass() const { return false; }

  // Data sources: the global index of the next sample of rank 0, alike on all ranks and saved in
  // snapshots. -1: not a source.
  virtual int64_t position() const { return -1; }
  virtual void Seek(int64_t /*sample*/) {}
  // Data sources, between two passes: prepares the batch of the next Forward, which is to get an
  // equal `pass` but for the step, as far as possible while the device computes. position() does
  // not change, Seek discards the batch, and the next Forward throws what fails here. Without
  // effect where Forward does all by itself, and until then when called again.
  virtual void Stage(const Pass& /*pass*/) {}
  // Samples in the source; 0 when not a source or endless.
  virtual int64_t source_size() const { return 0; }
  // Seconds Forward has waited for data so far.
  virtual double wait_seconds() const { return 0; }
  // Different records that it has left out so far because they cannot be used.
  virtual int64_t bad_records() const { return 0; }
  // The kernel that this one lends its tensors to, where it only copies for another.
  virtual Kernel* inner() const { return nullptr; }

 protected:
  KernelNeeds needs_;  // filled by the constructor; vectors may stay empty for "all plain"
  KernelTensors t_;
};

// The kernel that computes: `kernel` itself, or the one inside.
inline Kernel* InnermostKernel(Kernel* kernel) {
  while (kernel->inner() != nullptr) kernel = kernel->inner();
  return kernel;
}

// One implementation of a layer type on a device.
struct KernelType {
  std::string layer;  // "Convolution"
  DeviceKind device = DeviceKind::kCpu;
  std::string engine;  // "reference", "onednn", "cuda", "cudnn"
  int rank = 0;        // the highest that does not decline wins; reference is 0
  std::unique_ptr<Kernel> (*make)(const KernelArgs& args) = nullptr;
  // Empty, or why it cannot compute this layer ("oneDNN has no float64"). May be null: never
  // declines.
  std::string (*declines)(const KernelArgs& args) = nullptr;
  // It reads and writes 16-bit bottoms and tops as they are stored. The others see single
  // precision: core/net/plan/wide_kernel.h copies for them.
  bool narrow = false;
};

class KernelTypes {
 public:
  static KernelTypes& Get();
  bool Add(KernelType type);
  // Those of a layer on a device, best rank first.
  std::vector<const KernelType*> For(const std::string& layer, DeviceKind device) const;

 private:
  std::multimap<std::string, KernelType> types_;
};

// DOPPIO_REGISTER_KERNEL({"ReLU", DeviceKind::kCpu, "reference", 0, &Make, nullptr});
#define DOPPIO_REGISTER_KERNEL(...)                                               \
  [[maybe_unused]] static const bool DOPPIO_CONCAT(doppio_kernel_, __COUNTER__) = \
      ::doppio::KernelTypes::Get().Add(__VA_ARGS__)

// Makes a factory of a kernel class template on float / double with constructor (const
// KernelArgs&):
// {"Scale", DeviceKind::kCpu, "reference", 0, &MakeForFloat<ScaleKernel>}.
template <template <class> class K>
std::unique_ptr<Kernel> MakeForFloat(const KernelArgs& args) {
  if (args.dtype == DType::kFloat64) return std::make_unique<K<double>>(args);
  DOPPIO_CHECK(args.dtype == DType::kFloat32, "reference kernels compute in float and double");
  return std::make_unique<K<float>>(args);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_KERNEL_H_
