// What Concat and Slice do on a GPU: copies of runs, part by part (layers/join.h).
#ifndef DOPPIO_LAYERS_JOIN_CUDA_H_
#define DOPPIO_LAYERS_JOIN_CUDA_H_

#include "core/device/device_cuda.h"
#include "core/math/tensor_ops.h"
#include "layers/join.h"

namespace doppio {

// Concat when the parts are its bottoms, Slice when they are its tops.
class CudaJoinKernel : public Kernel {
 public:
  CudaJoinKernel(Device* device, Join join, bool parts_are_bottoms)
      : device_(device), join_(std::move(join)), concat_(parts_are_bottoms) {}

  void Forward(const Pass&) override {
    if (concat_) {
      Gather(t_.bottoms, t_.tops[0]);
    } else {
      Scatter(t_.bottoms[0], t_.tops);
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (concat_) {
      Scatter(t_.top_grads[0], t_.bottom_grads);
    } else if (t_.bottom_grads[0]) {
      Gather(t_.top_grads, t_.bottom_grads[0]);
    }
  }

 private:
  // Absent parts (tops whose gradient nobody computes) count as zero.
  void Gather(const std::vector<Tensor>& parts, const Tensor& whole) const {
    const bool complete =
        std::all_of(parts.begin(), parts.end(), [](const Tensor& part) { return bool(part); });
    if (!complete) OpsOf(device_).Fill(0, whole);
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(whole.data<char>() + offset, join_.row_bytes, part.data<char>(), run, run);
    });
  }

  // Absent parts (bottoms that need no gradient) are left out.
  void Scatter(const Tensor& whole, const std::vector<Tensor>& parts) const {
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
  const Join join_;
  const bool concat_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_JOIN_CUDA_H_
