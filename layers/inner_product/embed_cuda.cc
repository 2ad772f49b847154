// Embed on a GPU, in single precision. The host does not wait for the GPU, so if an index is out of
// range, its row of the top becomes NaN, and a later Forward throws an error that names the index.
#include <cmath>

#include "layers/common/rows_cuda.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/elementwise/tail_cuda.h"
#include "layers/inner_product/embed_form.h"

namespace doppio {
namespace {

class CudaEmbed : public FormKernel<EmbedForm> {
 public:
  explicit CudaEmbed(const KernelArgs& args) : FormKernel(args), at_(args.at) {
    needs_.saved_bytes = form_.count * kBytesOf<int32_t>;
    needs_.scratch_bytes = std::max({ReadIndicesRoom(form_.count), 2 * needs_.saved_bytes,
                                     ChannelSumsBytes(form_.count, form_.width, 1)});
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass&) override {
    wrong_->ThrowIfAny(form_.indices, at_, 1);
    LaunchReadIndices(GpuOf(device_), form_.indices, form_.count, BottomValues<float>(0), Rows(),
                      wrong_->word(), t_.scratch);
    LaunchGatherRows(GpuOf(device_), form_.count, form_.width, Rows(), ParamValues<float>(0),
                     form_.bias ? ParamValues<float>(1) : nullptr, NAN, TopValues<float>(0));
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const float* dy = TopGradient<float>(0);
    if (const Tensor& dw = t_.param_grads[0]) {
      if (!add[0]) device_->Zero(dw.raw, dw.bytes());
      LaunchAddRows(GpuOf(device_), form_.count, form_.width, Rows(), dy, dw.data<float>(),
                    static_cast<int32_t*>(t_.scratch));
    }
    if (!form_.bias || !t_.param_grads[1]) return;
    LaunchChannelSums(GpuOf(device_), form_.count, form_.width, 1, DType::kFloat32, dy, add[1],
                      ParamGradient<float>(1), t_.scratch);
  }

 private:
  // Returns the row indices that Forward has read.
  int32_t* Rows() const { return static_cast<int32_t*>(t_.saved); }

  const SourceLoc at_;
  std::unique_ptr<WrongLabel> wrong_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaEmbed>("Embed"));

}  // namespace
}  // namespace doppio
