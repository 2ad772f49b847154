// ROIPooling and PSROIPooling on a GPU. A region that names no image of the batch makes its bins
// NaN at once and is told by a later Forward, because nobody waits for the GPU to look.
#include "layers/detection/roi_pooling_cuda.h"

#include "layers/detection/roi_pooling_form.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaRoiKernel : public Kernel {
 public:
  CudaRoiKernel(const KernelArgs& args, const RoiForm& form)
      : spec_(*args.spec), device_(args.device), form_(form), bad_(args.device, sizeof(uint32_t)) {
    *bad() = 0;
  }

  void Forward(const Pass&) override {
    if (*static_cast<volatile uint32_t*>(bad()) != 0) throw BadRoi(spec_, form_);
    Pool();
  }
  void Backward(const Pass&, const std::vector<bool>&) override {
    if (t_.bottom_grads[0]) Spread();
  }

 protected:
  virtual void Pool() = 0;
  virtual void Spread() = 0;

  Gpu gpu() const { return GpuOf(device_); }
  uint32_t* bad() const { return static_cast<uint32_t*>(bad_.data()); }
  const float* rois() const { return t_.bottoms[1].data<float>(); }

  const LayerSpec& spec_;
  Device* const device_;
  const RoiForm form_;

 private:
  const PinnedBuffer bad_;
};

class CudaRoiPooling : public CudaRoiKernel {
 public:
  explicit CudaRoiPooling(const KernelArgs& args)
      : CudaRoiKernel(args, FormOf(&ReadRoiPooling, args)) {
    if (args.backward)
      needs_.saved_bytes = form_.top_count() * static_cast<int64_t>(sizeof(int32_t));
  }
  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaRoiPooling>(args);
  }

 private:
  int32_t* From() const { return static_cast<int32_t*>(t_.saved); }
  void Pool() override {
    LaunchRoi(gpu(), RoiMax<float>{form_, t_.bottoms[0].data<float>(), rois(),
                                   t_.tops[0].data<float>(), From(), bad()});
  }
  void Spread() override {
    LaunchRoi(gpu(), RoiMaxGradient<float>{form_, rois(), t_.top_grads[0].data<float>(), From(),
                                           t_.bottom_grads[0].data<float>()});
  }
};

class CudaPsRoiPooling : public CudaRoiKernel {
 public:
  explicit CudaPsRoiPooling(const KernelArgs& args)
      : CudaRoiKernel(args, FormOf(&ReadPsRoiPooling, args)) {}
  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaPsRoiPooling>(args);
  }

 private:
  void Pool() override {
    LaunchRoi(gpu(), PsRoiMean<float>{form_, t_.bottoms[0].data<float>(), rois(),
                                      t_.tops[0].data<float>(), bad()});
  }
  void Spread() override {
    LaunchRoi(gpu(), PsRoiMeanGradient<float>{form_, rois(), t_.top_grads[0].data<float>(),
                                              t_.bottom_grads[0].data<float>()});
  }
};

DOPPIO_REGISTER_KERNEL({"ROIPooling", DeviceKind::kCuda, "cuda", 10, &CudaRoiPooling::Make,
                        &DeclinesDouble});
DOPPIO_REGISTER_KERNEL({"PSROIPooling", DeviceKind::kCuda, "cuda", 10, &CudaPsRoiPooling::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
