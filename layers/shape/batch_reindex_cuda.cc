// BatchReindex on a GPU, in single precision. An index that is no row makes its row of the top NaN
// at once and is named by a later Forward.
#include "layers/shape/batch_reindex_spec.h"
#include "layers/common/rows_cuda.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaBatchReindex : public Kernel {
 public:
  explicit CudaBatchReindex(const KernelArgs& args)
      : device_(args.device),
        at_(args.spec->At()),
        indices_(ReindexReader(args)),
        count_(args.bottoms[1].shape.count()),
        width_(args.bottoms[0].shape.count(1)) {
    needs_.saved_bytes = count_ * static_cast<int64_t>(sizeof(int32_t));
    needs_.scratch_bytes = std::max(ReadIndicesRoom(count_), 2 * needs_.saved_bytes);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass&) override {
    wrong_->ThrowIfAny(indices_, at_, 1);
    LaunchReadIndices(GpuOf(device_), indices_, count_, t_.bottoms[1].data<float>(), Rows(),
                      wrong_->word(), t_.scratch);
    LaunchGatherRows(GpuOf(device_), count_, width_, Rows(), t_.bottoms[0].data<float>(), nullptr,
                     NAN, t_.tops[0].data<float>());
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    device_->Zero(dx.raw, dx.bytes());
    LaunchAddRows(GpuOf(device_), count_, width_, Rows(), t_.top_grads[0].data<float>(),
                  dx.data<float>(), static_cast<int32_t*>(t_.scratch));
  }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaBatchReindex>(args);
  }

 private:
  int32_t* Rows() const { return static_cast<int32_t*>(t_.saved); }

  Device* const device_;
  const SourceLoc at_;
  const IndexReader indices_;
  const int64_t count_, width_;
  std::unique_ptr<WrongLabel> wrong_;
};

DOPPIO_REGISTER_KERNEL({"BatchReindex", DeviceKind::kCuda, "cuda", 10, &CudaBatchReindex::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
