// What Concat and Slice do on a GPU: copies of runs, part by part (layers/join.h).
#ifndef DOPPIO_LAYERS_JOIN_CUDA_H_
#define DOPPIO_LAYERS_JOIN_CUDA_H_

#include "core/device/device_cuda.h"
#include "core/math/tensor_ops.h"
#include "layers/join.h"

namespace doppio {

class CudaJoinKernel : public JoinKernelBase {
 public:
  CudaJoinKernel(Device* device, Join join, bool parts_are_bottoms)
      : JoinKernelBase(std::move(join), parts_are_bottoms), device_(device) {}

 private:
  void Gather(const std::vector<Tensor>& parts, const Tensor& whole) const override {
    const bool complete =
        std::all_of(parts.begin(), parts.end(), [](const Tensor& part) { return bool(part); });
    if (!complete) OpsOf(device_).Fill(0, whole);
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(whole.data<char>() + offset, join_.row_bytes, part.data<char>(), run, run);
    });
  }

  void Scatter(const Tensor& whole, const std::vector<Tensor>& parts) const override {
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(part.data<char>(), run, whole.data<char>() + offset, join_.row_bytes, run);
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

  // A single row may be longer than the largest pitch there is.
  void CopyRuns(void* to, int64_t to_pitch, const void* from, int64_t from_pitch,
                int64_t run) const {
    if (join_.rows == 1) {
      CopyOnDevice(device_, to, from, run);
    } else {
      CopyRowsOnDevice(device_, to, to_pitch, from, from_pitch, run, join_.rows);
    }
  }

  Device* const device_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_JOIN_CUDA_H_
