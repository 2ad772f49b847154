// BatchReindex on a GPU, in single precision. The host does not wait for the GPU, so if an index is
// out of range, its row of the top becomes NaN, and a later Forward throws an error that names the
// index.
#include "core/net/contract/kernel.h"
#include "layers/common/rows_cuda.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/batch_reindex_form.h"

namespace doppio {
namespace {

class CudaBatchReindex : public FormKernel<BatchReindexForm> {
 public:
  explicit CudaBatchReindex(const KernelArgs& args) : FormKernel(args), at_(args.at) {
    needs_.saved_bytes = form_.count * kBytesOf<int32_t>;
    needs_.scratch_bytes = std::max(ReadIndicesRoom(form_.count), 2 * needs_.saved_bytes);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass&) override {
    wrong_->ThrowIfAny(form_.indices, at_, 1);
    LaunchReadIndices(GpuOf(device_), form_.indices, form_.count, BottomValues<float>(1), Rows(),
                      wrong_->word(), t_.scratch);
    LaunchGatherRows(GpuOf(device_), form_.count, form_.width, Rows(), BottomValues<float>(0),
                     nullptr, NAN, TopValues<float>(0));
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    device_->Zero(dx.raw, dx.bytes());
    LaunchAddRows(GpuOf(device_), form_.count, form_.width, Rows(), TopGradient<float>(0),
                  dx.data<float>(), static_cast<int32_t*>(t_.scratch));
  }

 private:
  // Returns the row indices that Forward has read.
  int32_t* Rows() const { return static_cast<int32_t*>(t_.saved); }

  const SourceLoc at_;
  std::unique_ptr<WrongLabel> wrong_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaBatchReindex>("BatchReindex"));

}  // namespace
}  // namespace doppio
