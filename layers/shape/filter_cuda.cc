// Filter on a GPU, in single precision. The host waits for the selector in every pass, because it
// must know how many rows are taken.
#include "core/net/graph/varying_rows.h"
#include "layers/common/rows_cuda.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/filter_rows.h"

namespace doppio {
namespace {

class CudaFilter : public Kernel, public RowCountSource {
 public:
  explicit CudaFilter(const KernelArgs& args)
      : device_(args.device),
        rows_(args.bottoms[0].shape[0]),
        bytes_(rows_.all() * kBytesOf<int32_t>),
        selector_(device_->MakeDownload(rows_.all() * kBytesOf<float>)),
        staging_(device_, 2 * bytes_) {
    needs_.saved_bytes = 2 * bytes_;
  }

  const int64_t* rows() const override { return &rows_.taken(); }

  void Forward(const Pass&) override {
    selector_->Start(0, t_.bottoms.back().raw, rows_.all() * kBytesOf<float>);
    // After Wait, the device has also finished copying from the staging memory in the previous
    // pass.
    rows_.Choose(reinterpret_cast<const float*>(selector_->Wait()));
    int32_t* staged = static_cast<int32_t*>(staging_.data());
    std::copy_n(rows_.source(), rows_.all(), staged);
    std::copy_n(rows_.target(), rows_.all(), staged + rows_.all());
    CopyToDeviceAsync(device_, t_.saved, staged, 2 * bytes_);
    for (size_t i = 0; i < t_.tops.size(); ++i) Pick(Source(), t_.bottoms[i], t_.tops[i]);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      const Tensor& dx = t_.bottom_grads[i];
      if (!dx) continue;
      if (t_.top_grads[i]) {
        Pick(Source() + rows_.all(), t_.top_grads[i], dx);
      } else {
        device_->Zero(dx.raw, dx.bytes());
      }
    }
  }

 private:
  // Returns FilterRows::source in device memory. FilterRows::target follows it.
  const int32_t* Source() const { return static_cast<const int32_t*>(t_.saved); }

  // Writes row rows[i] of `from`, or zeros for kNoRow, to row i of `to`.
  void Pick(const int32_t* rows, const Tensor& from, const Tensor& to) const {
    LaunchGatherRows(GpuOf(device_), rows_.all(), to.shape.count(1), rows, from.data<float>(),
                     nullptr, 0, to.data<float>());
  }

  Device* const device_;
  FilterRows rows_;
  const int64_t bytes_;
  const std::unique_ptr<Download> selector_;
  const PinnedBuffer staging_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaFilter>("Filter"));

}  // namespace
}  // namespace doppio
