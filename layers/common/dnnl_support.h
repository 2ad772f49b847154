// What the oneDNN kernels with parameters or several possible layouts share: judging
// implementations, carving scratch memory, and keeping a parameter in its own layout whatever a
// primitive wants.
#ifndef DOPPIO_LAYERS_COMMON_DNNL_SUPPORT_H_
#define DOPPIO_LAYERS_COMMON_DNNL_SUPPORT_H_

#include <cstring>
#include <string>
#include <unordered_map>

#include "core/base/threads.h"
#include "core/math/dnnl.h"

namespace doppio {

using DnnlArgs = std::unordered_map<int, dnnl::memory>;

// Cost class of an implementation: 0 for code generated for the shape, 1 for matrix products or
// internal reorders ("ncsp": oneDNN 3's convolutions of plain images), 100 for plain loops.
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
  // Start again to reach the best one: copies of a descriptor share their position in the list.
  desc = make();
  for (int i = 0; i < best; ++i) NextImplementation(&desc);
  return desc;
}

// Reading an input in another layout than its producer's costs a pass over it.
constexpr double kReorderSlowness = 0.5;

// N x C x spatial with `block` channels innermost ("nChw16c"), channels padded to whole blocks.
// Empty if oneDNN has no such layout.
inline dnnl::memory::desc ChannelBlocked(const Shape& shape, int64_t block) {
  Blocking blocking = BlockingOf(PlainDesc(shape));
  blocking.padded_dims[1] = (shape[1] + block - 1) / block * block;
  blocking.AddInner(block, 1);
  int64_t stride = block;
  for (int i = blocking.rank() - 1; i >= 0; --i) {
    blocking.strides[i] = stride;
    stride *= i == 1 ? blocking.padded_dims[1] / block : blocking.dims[i];
  }
  return DescOf(blocking);
}

// Gives out 64-byte aligned pieces of one block of memory that does not exist yet.
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

inline void* At(void* base, int64_t offset) { return static_cast<char*>(base) + offset; }

// A parameter as a primitive reads it. Reordered before each use when the two layouts differ.
class ParamReader {
 public:
  ParamReader() = default;
  ParamReader(const dnnl::memory::desc& kept, const dnnl::memory::desc& wanted, Carver* scratch)
      : wanted_(wanted) {
    if (kept == wanted) return;
    reorder_ = Reorder(kept, wanted);
    offset_ = scratch->Take(wanted);
  }
  void Bind(void* parameter, void* scratch) {
    parameter_ = parameter;
    memory_ = MemoryAt(wanted_, reorder_ ? At(scratch, offset_) : parameter);
  }
  const dnnl::memory& memory() const { return memory_; }
  void Prepare() const {
    if (reorder_) reorder_.Run(parameter_, memory_.get_data_handle());
  }

 private:
  dnnl::memory::desc wanted_;
  Reorder reorder_;
  int64_t offset_ = 0;
  void* parameter_ = nullptr;
  dnnl::memory memory_;
};

// Where a primitive, which can only write, puts a parameter's gradient: the gradient itself, or
// scratch when it must be added, is in another layout, or is not wanted (while the primitive's
// other results are).
class GradientWriter {
 public:
  GradientWriter() = default;
  // For parameter `i` of the layer of `args`; `kept` is where it lies, `made` what the primitive
  // writes.
  GradientWriter(const KernelArgs& args, size_t i, const dnnl::memory::desc& kept,
                 const dnnl::memory::desc& made, Carver* scratch)
      : kept_(kept), made_(made) {
    const bool direct = kept == made && args.shape->tops.size() == 1 &&
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
    aside_ = MemoryAt(made_, At(scratch, made_offset_));
    reordered_ = static_cast<float*>(At(scratch, kept_offset_));
  }
  const dnnl::memory& Target(bool add) const {
    return gradient_ == nullptr || add || reorder_ ? aside_ : direct_;
  }
  void Finish(bool add) const {
    if (gradient_ == nullptr || (!add && !reorder_)) return;
    const float* from = static_cast<const float*>(aside_.get_data_handle());
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
  dnnl::memory direct_, aside_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_DNNL_SUPPORT_H_
