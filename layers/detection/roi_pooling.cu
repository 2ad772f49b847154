// ROIPooling, PSROIPooling, ROIAlign and PSROIAlign on a GPU. The host does not wait for the GPU,
// so if a region names no image of the batch, its bins become NaN, and a later Forward throws the
// error.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/detection/roi_align_ops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {
namespace {

// Ops is as in RoiKernel (roi_kernel.h).
template <template <class> class Ops>
class CudaRoiKernel : public FormKernel<RoiPoolingForm> {
 public:
  explicit CudaRoiKernel(const KernelArgs& args)
      : FormKernel(args), bad_(args.device, sizeof(uint32_t)) {
    *bad() = 0;
    if (args.backward && Ops<float>::kKeepsPositions)
      needs_.saved_bytes = form_.rois.top_count() * kBytesOf<int32_t>;
  }

  void Forward(const Pass&) override {
    if (*static_cast<volatile uint32_t*>(bad()) != 0) throw form_.bad_region;
    ForEachIndex(
        GpuOf(device_), form_.rois.top_count(), Ops<float>::kName,
        typename Ops<float>::Forward{form_.rois, BottomValues<float>(0), BottomValues<float>(1),
                                     TopValues<float>(0), From(), bad()});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    ForEachIndex(
        GpuOf(device_), form_.rois.bottom_count(), gradient_name_.c_str(),
        typename Ops<float>::Gradient{form_.rois, BottomValues<float>(1), TopGradient<float>(0),
                                      From(), BottomGradient<float>(0)});
  }

 private:
  // Returns the positions of the maxima, or null if Backward is never called.
  int32_t* From() const { return static_cast<int32_t*>(t_.saved); }
  // Pinned host memory that the GPU sets to 1 for a bad region.
  uint32_t* bad() const { return static_cast<uint32_t*>(bad_.data()); }

  const std::string gradient_name_ = Ops<float>::kName + std::string("'s gradient");
  const PinnedBuffer bad_;
};

std::unique_ptr<Kernel> MakeCudaRoiAlign(const KernelArgs& args) {
  if (args.Form<RoiPoolingForm>().rois.at_corners)
    return std::make_unique<CudaRoiKernel<CornersOfRois>>(args);
  return std::make_unique<CudaRoiKernel<AlignedRois>>(args);
}

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaRoiKernel<MaxOfRois>>("ROIPooling"));
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaRoiKernel<MeanOfRois>>("PSROIPooling"));
DOPPIO_REGISTER_KERNEL(CudaKernel("ROIAlign", &MakeCudaRoiAlign));
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaRoiKernel<PsAlignedRois>>("PSROIAlign"));

}  // namespace
}  // namespace doppio
