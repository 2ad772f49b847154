// Mixup on a GPU, plain or channels last, for every stored type. Backward draws the shares of its
// forward again. A wrong label sets the class shares of its pair to NaN; a later Forward throws an
// error that names the label.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/common/wrong_label_cuda.h"
#include "layers/elementwise/mixup_ops.h"

namespace doppio {
namespace {

// Sets mixtures[row] for each sample of the batch. `first_sample` is the global index of the
// batch's first sample.
static void DrawMixtures(const Gpu& gpu, const MixupForm& form, uint64_t first_sample,
                         Mixture* mixtures) {
  ForEachIndex(
      gpu, form.samples, "Mixup's shares", DOPPIO_BODY(int64_t row) {
        mixtures[row] = form.Of(first_sample + static_cast<uint64_t>(row));
      });
}

// Mixes data or their gradients. `y` must not be `x`. `channels` is that of images with channels
// last, and 1 of all other data.
template <class T>
static void MixData(const Gpu& gpu, const MixupForm& form, const Mixture* mixtures,
                    int64_t channels, const T* x, T* y) {
  ForEachIndex(
      gpu, form.samples * form.per_sample, "Mixup", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / form.per_sample, element = i - row * form.per_sample;
        const int64_t other = i + (form.Partner(row) - row) * form.per_sample;
        const Mixture& mixture = mixtures[row];
        if (mixture.pastes) {
          const int64_t pixel = element / channels % (form.height * form.width);
          y[i] = mixture.InBox(pixel / form.width, pixel % form.width) ? x[other] : x[i];
          return;
        }
        y[i] = static_cast<T>(
            Mixed(mixture.share, static_cast<float>(x[i]), static_cast<float>(x[other])));
      });
}

// Writes NaN for all classes of a pair with a wrong label, and writes the first such label to
// *wrong.
static void MixLabels(const Gpu& gpu, const MixupForm& form, const Mixture* mixtures,
                      const float* labels, float* to, WrongLabelWord* wrong, void* room) {
  ForEachIndex(
      gpu, form.samples * form.classes, "Mixup's labels", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / form.classes, c = i - row * form.classes;
        const int64_t own = form.Class(labels[row]), other = form.Class(labels[form.Partner(row)]);
        to[i] = own < 0 || other < 0 ? NAN
                                     : form.Label(Mixed(mixtures[row].share, own == c ? 1.0f : 0.0f,
                                                        other == c ? 1.0f : 0.0f));
      });
  ReduceRows(
      gpu, 1, form.samples, "Mixup's labels", kNoWrongLabel,
      DOPPIO_BODY(int64_t, int64_t row) {
        return form.Class(labels[row]) < 0 ? PackWrongLabel(row, labels[row]) : kNoWrongLabel;
      },
      DOPPIO_BODY(WrongLabelWord a, WrongLabelWord b) { return a < b ? a : b; },
      DOPPIO_BODY(int64_t, WrongLabelWord first) {
        if (first != kNoWrongLabel) *wrong = first;
      },
      room);
}

class CudaMixup : public FormKernel<MixupForm> {
 public:
  explicit CudaMixup(const KernelArgs& args) : FormKernel(args), at_(args.at), type_(args.tops[0]) {
    const Layout layout = CommonLayout({args.bottoms[0]});
    if (layout.channels_last()) channels_ = form_.per_sample / (form_.height * form_.width);
    needs_.bottoms = {layout, Layout()};
    needs_.types = {type_, DType::kFloat32};
    needs_.tops = {layout, Layout()};
    needs_.scratch_bytes = MixtureBytes() + ReduceRowsBytes<WrongLabelWord>(1, form_.samples);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(form_, at_, 1);
    const Mixture* mixtures = Mix(pass, t_.bottoms[0], t_.tops[0]);
    MixLabels(GpuOf(device_), form_, mixtures, BottomValues<float>(1), TopValues<float>(1),
              wrong_->word(), static_cast<char*>(t_.scratch) + MixtureBytes());
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    // If only the mixed labels are read, the data have no gradient.
    if (!t_.top_grads[0]) return device_->Zero(dx.raw, dx.bytes());
    Mix(pass, t_.top_grads[0], dx);
  }

 private:
  int64_t MixtureBytes() const { return form_.samples * static_cast<int64_t>(sizeof(Mixture)); }

  // Mixes `from` into `to`. Returns the mixtures of the batch, which are in scratch memory.
  const Mixture* Mix(const Pass& pass, const Tensor& from, const Tensor& to) const {
    auto* const mixtures = static_cast<Mixture*>(t_.scratch);
    DrawMixtures(GpuOf(device_), form_, pass.FirstSample(form_.samples), mixtures);
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      MixData<T>(GpuOf(device_), form_, mixtures, channels_, from.data<T>(), to.data<T>());
    });
    return mixtures;
  }

  const SourceLoc at_;
  const DType type_;
  int64_t channels_ = 1;  // as MixData takes it
  std::unique_ptr<WrongLabel> wrong_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaMixup>("Mixup").Narrow());

}  // namespace
}  // namespace doppio
