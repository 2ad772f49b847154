// Kernels: the classes that compute a layer on a device. This file does not include protobuf, so
// that nvcc can compile kernels.
//
// Life of a layer: infer (core/net/contract/layer.h) -> the plan constructs the best kernel that
// does not decline -> the plan places memory -> Bind once -> Forward / Backward many times. Kernels
// allocate nothing after Bind, except that the first Forward allocates the host memory whose size
// depends on the batch: the plan also constructs kernels for batches that do not fit.
#ifndef DOPPIO_CORE_NET_CONTRACT_KERNEL_H_
#define DOPPIO_CORE_NET_CONTRACT_KERNEL_H_

#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

class Communicator;
class SumsInStream;  // core/net/contract/communicator.h

// Returns the struct that the layer type's `infer` stored in `form`. Fails if `form` contains
// another type.
template <class T>
const T& FormAs(const std::any* form, const std::string& type) {
  const T* typed = form == nullptr ? nullptr : std::any_cast<T>(form);
  DOPPIO_CHECK(typed != nullptr, "layer type " + type + " has no such form");
  return *typed;
}

// The arguments that change from call to call of a kernel.
struct Pass {
  // Number of forward passes of this net before this one, over all iterations. Each pass of an
  // iteration counts (iter_size).
  uint64_t step = 0;
  int rank = 0, ranks = 1;
  // In a test: the rows of this batch, and those of all earlier batches of the net's tests. All
  // batches then count alike, whatever rank runs them. Elsewhere `rows` is 0.
  uint64_t rows = 0, rows_before = 0;
  int writer = 0;  // number of the replica or micro-batch, which the files that it writes contain
  // The ranks whose batches are parts of one big batch, over which losses are normalised. Null if
  // this batch is complete.
  Communicator* group = nullptr;
  // Sums over the same ranks in an accelerator's memory. Null if only `group` can sum.
  SumsInStream* sums = nullptr;
  // This Forward repeats a Forward of the same step, because backward needs its results again. The
  // kernel writes the same values to its tops and `saved`, and does not change other state (running
  // statistics).
  bool again = false;

  // Returns the global index of row 0 of a batch of `batch` rows. Per-sample random numbers use the
  // index as their key.
  uint64_t FirstSample(int64_t batch) const {
    const auto own = static_cast<uint64_t>(batch);
    if (rows > 0) return rows_before * own / rows;
    return (step * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank)) * own;
  }
  // Return the number of equal batches of which one big batch consists, and the index of this one.
  int parts() const { return rows > 0 ? 1 : ranks; }
  int part() const { return rows > 0 ? 0 : rank; }
};

// One layer of a chain (core/net/contract/fusion.h).
struct ChainLink {
  std::string type;
  const std::any* form = nullptr;  // LayerShape::form of this layer alone
  int input = 0;            // the bottom that the previous link computes; meaningless in the head
  int bottoms = 0;          // the number of bottoms of this layer alone
  std::vector<Shape> tops;  // the shapes of the tops of this layer alone

  template <class T>
  const T& Form() const {
    return FormAs<T>(form, type);
  }
};

// Settings of engines, by engine: {"winograd", "on"}. Only the kernels of the engine read its
// setting and know its values. An engine without an entry has its default.
using EngineOptions = std::map<std::string, std::string>;

// The arguments of a kernel's constructor. For a chain (core/net/contract/fusion.h), layer, type
// and at are those of the head; the other members describe the whole chain.
struct KernelArgs {
  std::string layer;  // name of the layer
  std::string type;
  SourceLoc at;                    // place of the layer in its file
  bool train = false;              // true in phase TRAIN
  uint64_t seed = 0;               // seed of the net's random numbers
  const std::any* form = nullptr;  // LayerShape::form
  std::vector<Shape> top_shapes, param_shapes;

  // Returns the struct that the layer's `infer` stored.
  template <class T>
  const T& Form() const {
    return FormAs<T>(form, type);
  }
  // Notes a choice of the kernel, for --dry_run.
  void Note(CandidateChoice choice) const {
    if (choices != nullptr) choices->push_back(std::move(choice));
  }

  const std::vector<ChainLink>* chain = nullptr;  // null if the layer is not part of a chain
  DType dtype = DType::kFloat32;                  // type of the parameters and of the arithmetic
  MathMode math = MathMode::kFloat32;             // required precision of products
  EngineOptions engine_options;
  // Where the constructor, and the function in Declines, add the choices that the kernel makes
  // (Note); null: nowhere.
  std::vector<CandidateChoice>* choices = nullptr;
  Device* device = nullptr;
  std::vector<TensorSpec> bottoms;  // with the type and layout in which each is stored
  std::vector<DType> tops;          // types in which the tops are stored
  // Layouts of parameters that another layer or net has already placed. A kernel that does not read
  // such a layout asks for the plain one; the plan then gives it a copy (param_copies.h).
  std::vector<Layout> param_layouts;
  std::vector<bool> param_placed;     // true if param_layouts[i] is fixed
  bool backward = false;              // true if Backward will be called
  std::vector<bool> bottom_gradient;  // true for bottoms that need a gradient
  std::vector<bool> param_gradient;   // true for parameters that need a gradient
  std::vector<bool> param_may_add;    // true if Backward may be called with add[i] set
  // If positive, the kernel may compute a larger gradient of parameter 0 in slices of about this
  // many bytes (KernelNeeds::gradient_slice).
  int64_t gradient_slice_bytes = 0;
  // Computes the statistics of a batch (BatchNorm) over the big batch of Pass::group, which
  // requires communication within each pass.
  bool sync_statistics = false;
};

// The requests of a kernel to the plan. By default, all layouts are plain and the kernel needs no
// extra memory.
struct KernelNeeds {
  // Layouts of the bottoms. The plan inserts reorders. A gradient has the layout of its value.
  std::vector<Layout> bottoms;
  // Types of the bottoms, for narrow kernels; the plan inserts conversions. Empty means the stored
  // types.
  std::vector<DType> types;
  std::vector<Layout> tops;  // layouts of the tops
  // Layouts of parameters that are not placed yet. Gradient and history use the same layout.
  std::vector<Layout> params;
  int64_t saved_bytes = 0;    // memory kept from Forward to Backward (masks, indices, workspaces)
  int64_t scratch_bytes = 0;  // scratch memory within one call, shared by all layers
  // Device memory that the kernel itself allocates, at the earliest in Bind, and keeps from pass to
  // pass: carried states, large tables. The plan only counts it.
  int64_t kept_bytes = 0;
  // If positive, the gradient of parameter 0 has memory only for this many of its stored elements.
  // Backward leaves it out, and BackwardSlice computes it.
  int64_t gradient_slice = 0;
};

// The memory of a kernel, fixed after Bind. Absent gradients have raw == nullptr.
struct KernelTensors {
  std::vector<Tensor> bottoms, tops, params;
  std::vector<Tensor> bottom_grads, top_grads, param_grads;
  void* saved = nullptr;
  void* scratch = nullptr;
};

// Computes one layer, or one chain of layers. Not thread-safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Returns the requests that the constructor has filled in.
  const KernelNeeds& needs() const { return needs_; }

  // Called once, after the plan has placed the memory. Override to build objects that need
  // addresses, and call the base class first.
  virtual void Bind(KernelTensors tensors) { t_ = std::move(tensors); }
  // Computes the tops from the bottoms.
  virtual void Forward(const Pass& pass) = 0;
  // Writes bottom gradients completely; never adds to them. Adds to parameter gradient i if add[i]
  // is true, else writes it. Called only if args.backward is true.
  virtual void Backward(const Pass& pass, const std::vector<bool>& add);
  // Writes a part of the gradient of parameter 0, the stored elements from `slice` *
  // needs().gradient_slice on, to the beginning of its memory. Called after Backward for each slice
  // in order, before any other layer runs. The earlier slices of the parameter may have changed.
  virtual void BackwardSlice(int64_t slice);

  // Returns true if Forward, and Backward for equal `add`, issue the same work to the device in
  // every pass and have no other effect. The device may then record and replay the work
  // (Device::Record).
  virtual bool same_every_pass() const { return false; }

  // Returns the wrapped kernel if this kernel only copies tensors for another one, else null.
  virtual Kernel* inner() const { return nullptr; }

 protected:
  // Return the elements of tensor i, of type T, in the order in which they are stored, or null if
  // the tensor is absent.
  template <class T>
  T* BottomValues(size_t i) const {
    return t_.bottoms[i].data<T>();
  }
  template <class T>
  T* TopValues(size_t i) const {
    return t_.tops[i].data<T>();
  }
  template <class T>
  T* ParamValues(size_t i) const {
    return t_.params[i].data<T>();
  }
  template <class T>
  T* BottomGradient(size_t i) const {
    return t_.bottom_grads[i].data<T>();
  }
  template <class T>
  T* TopGradient(size_t i) const {
    return t_.top_grads[i].data<T>();
  }
  template <class T>
  T* ParamGradient(size_t i) const {
    return t_.param_grads[i].data<T>();
  }

  // Filled by the constructor. An empty vector means that all layouts are plain.
  KernelNeeds needs_;
  KernelTensors t_;
};

// The base class of kernels that keep their device and their layer's form, of class F.
template <class F>
class FormKernel : public Kernel {
 public:
  explicit FormKernel(const KernelArgs& args) : device_(args.device), form_(args.Form<F>()) {}

 protected:
  Device* const device_;
  const F form_;
};

// Returns the kernel that computes: `kernel` itself, or the innermost kernel that it wraps.
inline Kernel* InnermostKernel(Kernel* kernel) {
  while (kernel->inner() != nullptr) kernel = kernel->inner();
  return kernel;
}

// Returns the interface T of the kernel that computes, or null if it does not have it or `kernel`
// is null. Interfaces beside Kernel: SampleSource, GroupedSource, ChangesTops, CarriesState, ...
template <class T>
T* Capability(Kernel* kernel) {
  return kernel == nullptr ? nullptr : dynamic_cast<T*>(InnermostKernel(kernel));
}

// One implementation of a layer type on a device, by default on the CPU with rank 0:
//   DOPPIO_REGISTER_KERNEL(
//       KernelType("LRN", &MakeLrn).Engine("onednn").Rank(10).Declines(&LrnDnnlDeclines));
struct KernelType {
  // Constructs the kernel. Called only if the kernel does not decline.
  using MakeFunction = std::unique_ptr<Kernel> (*)(const KernelArgs& args);
  // Returns why the kernel cannot compute this layer ("oneDNN has no float64"), or "" if it can. A
  // kernel that itself chooses among several ways declines if all of them decline.
  using DeclineFunction = std::string (*)(const KernelArgs& args);

  KernelType(std::string layer, MakeFunction make) : layer(std::move(layer)), make(make) {}

  // The kind of device that runs the kernel, from Device::kind().
  KernelType& On(std::string kind) {
    device = std::move(kind);
    return *this;
  }
  // The kernel runs on every kind of device without host memory, because it only calls Device,
  // TensorOps and other interfaces that each kind implements. Its engine has the kind's name in
  // lower case: "cuda".
  KernelType& OnAccelerators() {
    device = "";
    return *this;
  }
  // The library or method that computes: "reference", "onednn", "cuda", "cudnn".
  KernelType& Engine(std::string name) {
    engine = std::move(name);
    return *this;
  }
  // The kernel of the highest rank that does not decline computes the layer. "reference" has 0.
  KernelType& Rank(int value) {
    rank = value;
    return *this;
  }
  // Null means that the kernel never declines.
  KernelType& Declines(DeclineFunction function) {
    declines = function;
    return *this;
  }
  // The kernel reads and writes bottoms and tops in their 16-bit types, unless it declines them.
  // All other kernels compute in single precision, and core/net/plan/wide_kernel.h converts for
  // them.
  KernelType& Narrow() {
    narrow = true;
    return *this;
  }

  std::string layer;                      // "Convolution"
  std::string device = DeviceKind::kCpu;  // "": see OnAccelerators
  std::string engine;
  int rank = 0;
  MakeFunction make;
  DeclineFunction declines = nullptr;
  bool narrow = false;
};

// The registry of kernels.
class KernelTypes {
 public:
  // Returns the registry of the process.
  static KernelTypes& Get();
  // Registers a kernel; always returns true. Not thread-safe.
  bool Add(const KernelType& type);
  // Returns the kernels of a layer type on a kind of device, ordered by falling rank. Thread-safe.
  std::vector<const KernelType*> For(const std::string& layer, const std::string& device) const;
  // Returns the engines that have a kernel on a kind of device, in alphabetical order.
  std::vector<std::string> Engines(const std::string& device) const;

 private:
  // Returns `type`, or its copy for a kind of device if it runs on all accelerators; null if it
  // does not run on this kind.
  const KernelType* OnKind(const KernelType& type, const std::string& kind) const;

  std::multimap<std::string, KernelType> types_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<const KernelType*, std::string>, KernelType> on_kinds_;
};

#define DOPPIO_REGISTER_KERNEL(...)                                               \
  [[maybe_unused]] static const bool DOPPIO_CONCAT(doppio_kernel_, __COUNTER__) = \
      ::doppio::KernelTypes::Get().Add(__VA_ARGS__)

// Factories for KernelType::make. The kernel class K must have a constructor from const
// KernelArgs&.
template <class K>
std::unique_ptr<Kernel> MakeKernel(const KernelArgs& args) {
  return std::make_unique<K>(args);
}
// For a class template over float and double.
template <template <class> class K>
std::unique_ptr<Kernel> MakeForFloat(const KernelArgs& args) {
  if (args.dtype == DType::kFloat64) return std::make_unique<K<double>>(args);
  DOPPIO_CHECK(args.dtype == DType::kFloat32, "reference kernels compute in float and double");
  return std::make_unique<K<float>>(args);
}

// Return the type of a reference kernel on the CPU, with the given factory or of a class template:
// DOPPIO_REGISTER_KERNEL(ReferenceKernel<K>("X")).
inline KernelType ReferenceKernel(const std::string& layer, KernelType::MakeFunction make) {
  return KernelType(layer, make).Engine("reference");
}
template <template <class> class K>
KernelType ReferenceKernel(const std::string& layer) {
  return ReferenceKernel(layer, &MakeForFloat<K>);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_KERNEL_H_
