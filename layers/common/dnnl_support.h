// Helpers for oneDNN kernels that have parameters or several possible layouts. They rank oneDNN's
// implementations, assign scratch memory, and keep a parameter in its own layout whichever layout a
// primitive needs.
#ifndef DOPPIO_LAYERS_COMMON_DNNL_SUPPORT_H_
#define DOPPIO_LAYERS_COMMON_DNNL_SUPPORT_H_

#include <cstring>
#include <string>
#include <unordered_map>

#include "core/base/threads.h"
#include "core/math/dnnl.h"
#include "core/net/contract/kernel.h"

namespace doppio {

using DnnlArgs = std::unordered_map<int, dnnl::memory>;

// Returns the cost class of an implementation: 0 for code generated for the shape, 1 for matrix
// products or internal reorders ("ncsp": oneDNN 3's convolutions of plain images), 100 for plain
// loops.
inline double Slowness(const char* implementation) {
  const std::string name(implementation);
  if (name.find("ref") != std::string::npos || name.find("simple") != std::string::npos) return 100;
  if (name.find("ncsp") != std::string::npos) return 1;
  return name.find("gemm") != std::string::npos && name.find("brgemm") == std::string::npos ? 1 : 0;
}

// Returns the primitive descriptor that `make` creates, moved to the first implementation of the
// lowest cost class.
template <class Make>
auto Fastest(const Make& make) {
  auto desc = make();
  double least = Slowness(desc.impl_info_str());
  int best = 0, seen = 1;
  for (; least > 0 && NextImplementation(&desc); ++seen) {
    const double slowness = Slowness(desc.impl_info_str());
    if (slowness >= least) continue;
    best = seen;
    least = slowness;
  }
  if (best == seen - 1) return desc;
  // Create the descriptor again to reach the best implementation: copies of a descriptor share
  // their position in the list.
  desc = make();
  for (int i = 0; i < best; ++i) NextImplementation(&desc);
  return desc;
}

// Cost of reading an input in another layout than its producer's, on the scale of Slowness: one
// more pass over the input.
constexpr double kReorderSlowness = 0.5;

// Returns the layout N x C x spatial with `block` channels innermost ("nChw16c"), and the channels
// padded to whole blocks. Returns an empty descriptor if oneDNN has no such layout.
inline dnnl::memory::desc ChannelBlocked(const Shape& shape, int64_t block,
                                         DType type = DType::kFloat32) {
  Blocking blocking = BlockingOf(PlainDesc(shape));
  blocking.padded_dims[1] = (shape[1] + block - 1) / block * block;
  blocking.AddInner(block, 1);
  int64_t stride = block;
  for (int i = blocking.rank() - 1; i >= 0; --i) {
    blocking.strides[i] = stride;
    stride *= i == 1 ? blocking.padded_dims[1] / block : blocking.dims[i];
  }
  const dnnl::memory::desc desc = DescOf(blocking);
  return desc.is_zero() ? desc : WithType(desc, type);
}

// Assigns 64-byte aligned pieces of one block of memory before the block exists. Take returns the
// offset of a piece.
class Carver {
 public:
  int64_t Take(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  int64_t Take(const dnnl::memory::desc& desc) {
    return Take(static_cast<int64_t>(desc.get_size()));
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// Returns the address `offset` bytes after `base`.
inline void* At(void* base, int64_t offset) { return static_cast<char*>(base) + offset; }

// A primitive, and its scratchpad at `offset` in the kernel's scratch memory.
struct DnnlStep {
  DnnlStep() = default;
  // Creates the primitive that `desc` describes and assigns its scratchpad.
  template <class Desc>
  DnnlStep(const dnnl::primitive& primitive, const Desc& desc, Carver* scratch)
      : primitive(primitive),
        scratchpad(ScratchpadOf(desc.scratchpad_desc())),
        offset(scratch->Take(scratchpad)) {}

  // Returns the scratchpad if the scratch memory is at `scratch`.
  dnnl::memory ScratchpadAt(void* scratch) const {
    return MemoryAt(scratchpad, At(scratch, offset));
  }

  dnnl::primitive primitive;
  dnnl::memory::desc scratchpad;
  int64_t offset = 0;
};

// A tensor in the layout and type that a primitive reads. If the tensor is kept in another one,
// Prepare copies it into scratch memory; call Prepare before each execution.
class InputReader {
 public:
  InputReader() = default;
  InputReader(const dnnl::memory::desc& kept, const dnnl::memory::desc& wanted, Carver* scratch)
      : wanted_(wanted) {
    if (kept == wanted) return;
    reorder_ = Reorder(kept, wanted);
    offset_ = scratch->Take(wanted);
  }
  void Bind(void* tensor, void* scratch) {
    tensor_ = tensor;
    memory_ = MemoryAt(wanted_, reorder_ ? At(scratch, offset_) : tensor);
  }
  const dnnl::memory& memory() const { return memory_; }
  void Prepare() const {
    if (reorder_) reorder_.Run(tensor_, memory_.get_data_handle());
  }

 private:
  dnnl::memory::desc wanted_;
  Reorder reorder_;
  int64_t offset_ = 0;
  void* tensor_ = nullptr;
  dnnl::memory memory_;
};

// The memory to which a primitive writes a parameter's gradient. Primitives cannot add, so it is
// scratch memory if the gradient must be added, has another layout, or is not wanted while the
// primitive's other results are. Otherwise it is the gradient itself.
class GradientWriter {
 public:
  GradientWriter() = default;
  // For parameter `i` of the layer in `args`. The gradient has layout `kept`; the primitive writes
  // layout `made`.
  GradientWriter(const KernelArgs& args, size_t i, const dnnl::memory::desc& kept,
                 const dnnl::memory::desc& made, Carver* scratch)
      : kept_(kept), made_(made) {
    const bool direct = kept == made && args.top_shapes.size() == 1 &&
                        i < args.param_may_add.size() && !args.param_may_add[i] &&
                        args.param_gradient[i];
    if (!direct) made_offset_ = scratch->Take(made);
    if (kept == made) return;
    reorder_ = Reorder(made, kept);
    kept_offset_ = scratch->Take(kept);
  }
  void Bind(void* gradient, void* scratch) {
    gradient_ = static_cast<float*>(gradient);
    direct_ = MemoryAt(made_, gradient);
    scratch_ = MemoryAt(made_, At(scratch, made_offset_));
    reordered_ = static_cast<float*>(At(scratch, kept_offset_));
  }
  // Returns the memory that the primitive must write.
  const dnnl::memory& Target(bool add) const {
    return gradient_ == nullptr || add || reorder_ ? scratch_ : direct_;
  }
  // Moves the primitive's result to the gradient, or adds it if `add` is true. Call it after each
  // execution, with the same `add` as Target.
  void Finish(bool add) const {
    if (gradient_ == nullptr || (!add && !reorder_)) return;
    const float* from = static_cast<const float*>(scratch_.get_data_handle());
    if (reorder_) {
      reorder_.Run(from, add ? reordered_ : gradient_);
      from = reordered_;
    }
    if (!add) return;
    float* to = gradient_;
    ParallelFor(static_cast<int64_t>(kept_.get_size() / sizeof(float)), 1 << 14,
                [to, from](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) to[i] += from[i];
                });
  }

 private:
  dnnl::memory::desc kept_, made_;
  int64_t made_offset_ = 0, kept_offset_ = 0;
  Reorder reorder_;
  float *gradient_ = nullptr, *reordered_ = nullptr;
  dnnl::memory direct_, scratch_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_DNNL_SUPPORT_H_
