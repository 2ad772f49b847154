// Mixup on a GPU, in any layout and with whatever activations are stored as. Backward draws the
// shares of its forward again. A wrong label makes its pair's shares NaN at once and is named by a
// later Forward.
#include "layers/elementwise/mixup_cuda.h"

#include "layers/elementwise/mixup_spec.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

// What WrongLabel asks.
struct MixupLabels {
  const MixupForm& form;
  [[noreturn]] void Fail(const SourceLoc& at, double label, int64_t row, int64_t) const {
    FailAtMixupLabel(at, form, label, row);
  }
};

class CudaMixup : public Kernel {
 public:
  explicit CudaMixup(const KernelArgs& args)
      : device_(args.device),
        at_(args.spec->At()),
        form_(MixupFormOf(*args.spec, args.bottoms[0].shape)),
        type_(args.tops[0]) {
    const Layout layout = CommonLayout({args.bottoms[0]});
    needs_.bottoms = {layout, Layout()};
    needs_.types = {type_, DType::kFloat32};
    needs_.tops = {layout, Layout()};
    needs_.scratch_bytes = ShareBytes() + MixupRoomBytes(form_);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(MixupLabels{form_}, at_, 1);
    const double* shares = Draw(pass);
    LaunchMixupData(GpuOf(device_), form_, shares, type_, t_.bottoms[0].raw, t_.tops[0].raw);
    LaunchMixupLabels(GpuOf(device_), form_, shares, t_.bottoms[1].data<float>(),
                      t_.tops[1].data<float>(), wrong_->word(),
                      static_cast<char*>(t_.scratch) + ShareBytes());
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchMixupData(GpuOf(device_), form_, Draw(pass), type_, t_.top_grads[0].raw,
                    t_.bottom_grads[0].raw);
  }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaMixup>(args);
  }

 private:
  int64_t ShareBytes() const { return form_.samples * static_cast<int64_t>(sizeof(double)); }
  const double* Draw(const Pass& pass) const {
    double* const shares = static_cast<double*>(t_.scratch);
    LaunchMixupShares(GpuOf(device_), form_, pass.FirstSample(form_.samples), shares);
    return shares;
  }

  Device* const device_;
  const SourceLoc at_;
  const MixupForm form_;
  const DType type_;
  std::unique_ptr<WrongLabel> wrong_;
};

DOPPIO_REGISTER_KERNEL({"Mixup", DeviceKind::kCuda, "cuda", 10, &CudaMixup::Make, &DeclinesDouble,
                        true});

}  // namespace
}  // namespace doppio
