// What Concat and Slice do on a GPU: copies of runs, part by part (layers/shape/join.h).
#ifndef DOPPIO_LAYERS_SHAPE_JOIN_CUDA_H_
#define DOPPIO_LAYERS_SHAPE_JOIN_CUDA_H_

#include "core/device/device_cuda.h"
#include "core/math/tensor_ops.h"
#include "layers/common/copy_runs_cuda.h"
#include "layers/shape/join.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {

// Of parts and a whole that are all stored as `dtype`, plain or with channels last.
inline Join MakeCudaJoin(const std::vector<Shape>& parts, int axis, DType dtype,
                         const Layout& layout) {
  std::vector<int> order = {0};
  const int rank = parts[0].rank(), rest = layout.channels_last() ? 2 : 1;
  for (int a = rest; a < rank; ++a) order.push_back(a);
  if (rest == 2) order.push_back(1);
  Join join = MakeJoin(parts, axis, dtype, order);
  join.whole = layout;
  join.parts.assign(parts.size(), layout);
  return join;
}

class CudaJoinKernel : public JoinKernelBase {
 public:
  CudaJoinKernel(const KernelArgs& args, Join join, bool parts_are_bottoms)
      : JoinKernelBase(std::move(join), parts_are_bottoms), device_(args.device) {
    AskForOneForm(args, &needs_);
  }
  bool same_every_pass() const override { return true; }

 private:
  void Gather(const std::vector<Tensor>& parts, const Tensor& whole) const override {
    const bool complete =
        std::all_of(parts.begin(), parts.end(), [](const Tensor& part) { return bool(part); });
    if (!complete) OpsOf(device_).Fill(0, whole);
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(GpuOf(device_), join_.rows, run, whole.data<char>() + offset, join_.row_bytes,
               part.raw, run);
    });
  }

  void Scatter(const Tensor& whole, const std::vector<Tensor>& parts) const override {
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(GpuOf(device_), join_.rows, run, part.raw, run, whole.data<char>() + offset,
               join_.row_bytes);
    });
  }

  // f(part, bytes of its runs, where they begin in a row of the whole) for those that are there.
  template <class F>
  void ForEachPart(const std::vector<Tensor>& parts, const F& f) const {
    int64_t offset = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p] && join_.run_bytes[p] > 0) f(parts[p], join_.run_bytes[p], offset);
      offset += join_.run_bytes[p];
    }
  }

  Device* const device_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_JOIN_CUDA_H_
