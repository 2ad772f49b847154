// MVN on a GPU, in single precision and the plain layout.
#include "layers/normalization/mvn_cuda.h"

#include "layers/normalization/mvn_rows.h"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaMvn : public Kernel {
 public:
  explicit CudaMvn(const KernelArgs& args)
      : device_(args.device),
        rows_(MvnRowsOf(*args.spec, args.bottoms[0].shape)),
        backward_(args.backward),
        scales_(args.spec->param.mvn_param().normalize_variance()),
        eps_(args.spec->param.mvn_param().eps()) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  void Forward(const Pass&) override {
    LaunchMvn(GpuOf(device_), rows_.count, rows_.length, eps_, t_.bottoms[0].data<float>(),
              t_.tops[0].data<float>(), inverses_, t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchMvnBackward(GpuOf(device_), rows_.count, rows_.length, t_.tops[0].data<float>(),
                      t_.top_grads[0].data<float>(), inverses_, t_.bottom_grads[0].data<float>(),
                      t_.scratch);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaMvn>(args);
  }

 private:
  // Launches have the beginning of the scratch.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(MvnScratchBytes(rows_.count, rows_.length));
    if (scales_) inverses_ = (backward_ ? kept : passing).Take<float>(rows_.count);
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  Device* const device_;
  const MvnRows rows_;
  const bool backward_, scales_;
  const float eps_;
  float* inverses_ = nullptr;
};

DOPPIO_REGISTER_KERNEL({"MVN", DeviceKind::kCuda, "cuda", 10, &CudaMvn::Make, &DeclinesDouble});

}  // namespace
}  // namespace doppio
