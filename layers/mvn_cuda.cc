// MVN on a GPU, in single precision and the plain layout.
#include "layers/mvn_cuda.h"

#include "layers/mvn_rows.h"
#include "layers/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaMvn : public Kernel {
 public:
  explicit CudaMvn(const KernelArgs& args)
      : device_(args.device),
        rows_(MvnRowsOf(*args.spec, args.bottoms[0].shape)),
        backward_(args.backward),
        eps_(args.spec->param.mvn_param().eps()),
        sums_bytes_((MvnScratchBytes(rows_.count, rows_.length) + 63) / 64 * 64) {
    const int64_t inverses_bytes = args.spec->param.mvn_param().normalize_variance()
                                       ? rows_.count * static_cast<int64_t>(sizeof(float))
                                       : 0;
    scales_ = inverses_bytes > 0;
    needs_.saved_bytes = backward_ ? inverses_bytes : 0;
    needs_.scratch_bytes = sums_bytes_ + (backward_ ? 0 : inverses_bytes);
  }

  void Forward(const Pass&) override {
    LaunchMvn(GpuOf(device_), rows_.count, rows_.length, eps_, t_.bottoms[0].data<float>(),
              t_.tops[0].data<float>(), Inverses(), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchMvnBackward(GpuOf(device_), rows_.count, rows_.length, t_.tops[0].data<float>(),
                      t_.top_grads[0].data<float>(), Inverses(), t_.bottom_grads[0].data<float>(),
                      t_.scratch);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaMvn>(args);
  }

 private:
  float* Inverses() const {
    if (!scales_) return nullptr;
    void* place = backward_ ? t_.saved : static_cast<char*>(t_.scratch) + sums_bytes_;
    return static_cast<float*>(place);
  }

  Device* const device_;
  const MvnRows rows_;
  const bool backward_;
  const float eps_;
  const int64_t sums_bytes_;  // a multiple of 64
  bool scales_ = false;
};

DOPPIO_REGISTER_KERNEL({"MVN", DeviceKind::kCuda, "cuda", 10, &CudaMvn::Make, &DeclinesDouble});

}  // namespace
}  // namespace doppio
