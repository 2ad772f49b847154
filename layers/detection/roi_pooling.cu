// ROIPooling, PSROIPooling, ROIAlign and PSROIAlign on a GPU. The host does not wait for the GPU,
// so if a region names no image of the batch, its bins become NaN, and a later Forward throws the
// error.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/detection/roi_align_ops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {
namespace {

// Common base class. Derived classes launch the kernels.
class CudaRoiKernel : public Kernel {
 public:
  explicit CudaRoiKernel(const KernelArgs& args)
      : device_(args.device),
        form_(args.Form<RoiPoolingForm>().rois),
        bad_region_(args.Form<RoiPoolingForm>().bad_region),
        bad_(args.device, sizeof(uint32_t)) {
    *bad() = 0;
  }

  void Forward(const Pass&) override {
    if (*static_cast<volatile uint32_t*>(bad()) != 0) throw bad_region_;
    Pool();
  }
  void Backward(const Pass&, const std::vector<bool>&) override {
    if (t_.bottom_grads[0]) Spread();
  }

 protected:
  // Launches the forward kernel.
  virtual void Pool() = 0;
  // Launches the backward kernel.
  virtual void Spread() = 0;

  Gpu gpu() const { return GpuOf(device_); }
  // Pinned host memory that the GPU sets to 1 for a bad region.
  uint32_t* bad() const { return static_cast<uint32_t*>(bad_.data()); }
  const float* rois() const { return BottomValues<float>(1); }

  Device* const device_;
  const RoiForm form_;

 private:
  const UserError bad_region_;
  const PinnedBuffer bad_;
};

class CudaRoiPooling : public CudaRoiKernel {
 public:
  explicit CudaRoiPooling(const KernelArgs& args) : CudaRoiKernel(args) {
    if (args.backward) needs_.saved_bytes = form_.top_count() * kBytesOf<int32_t>;
  }

 private:
  // Returns the positions of the maxima, or null if Backward is never called.
  int32_t* From() const { return static_cast<int32_t*>(t_.saved); }
  void Pool() override {
    ForEachIndex(
        gpu(), form_.top_count(), "ROIPooling",
        RoiMax<float>{form_, BottomValues<float>(0), rois(), TopValues<float>(0), From(), bad()});
  }
  void Spread() override {
    ForEachIndex(gpu(), form_.bottom_count(), "ROIPooling's gradient",
                 RoiMaxGradient<float>{form_, rois(), TopGradient<float>(0), From(),
                                       BottomGradient<float>(0)});
  }
};

class CudaPsRoiPooling : public CudaRoiKernel {
 public:
  explicit CudaPsRoiPooling(const KernelArgs& args) : CudaRoiKernel(args) {}

 private:
  void Pool() override {
    ForEachIndex(
        gpu(), form_.top_count(), "PSROIPooling",
        PsRoiMean<float>{form_, BottomValues<float>(0), rois(), TopValues<float>(0), bad()});
  }
  void Spread() override {
    ForEachIndex(
        gpu(), form_.bottom_count(), "PSROIPooling's gradient",
        PsRoiMeanGradient<float>{form_, rois(), TopGradient<float>(0), BottomGradient<float>(0)});
  }
};

// ROIAlign and PSROIAlign. Points<float> is a class of points of
// roi_align_ops.h.
template <template <class> class Points>
class CudaRoiPoints : public CudaRoiKernel {
 public:
  explicit CudaRoiPoints(const KernelArgs& args) : CudaRoiKernel(args) {}

 private:
  void Pool() override {
    ForEachIndex(gpu(), form_.top_count(), form_.own_channels ? "PSROIAlign" : "ROIAlign",
                 RoiPointMean<float, Points>{form_, BottomValues<float>(0), rois(),
                                             TopValues<float>(0), bad()});
  }
  void Spread() override {
    ForEachIndex(gpu(), form_.bottom_count(),
                 form_.own_channels ? "PSROIAlign's gradient" : "ROIAlign's gradient",
                 RoiPointMeanGradient<float, Points>{form_, rois(), TopGradient<float>(0),
                                                     BottomGradient<float>(0)});
  }
};

std::unique_ptr<Kernel> MakeCudaRoiAlign(const KernelArgs& args) {
  if (args.Form<RoiPoolingForm>().rois.at_corners)
    return std::make_unique<CudaRoiPoints<CornerPoints>>(args);
  return std::make_unique<CudaRoiPoints<AlignPoints>>(args);
}

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaRoiPooling>("ROIPooling"));
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaPsRoiPooling>("PSROIPooling"));
DOPPIO_REGISTER_KERNEL(CudaKernel("ROIAlign", &MakeCudaRoiAlign));
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaRoiPoints<PsAlignPoints>>("PSROIAlign"));

}  // namespace
}  // namespace doppio
