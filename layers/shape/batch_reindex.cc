// BatchReindex: rows of bottom 0, picked and repeated as the indices in bottom 1 say.
#include "layers/shape/batch_reindex_spec.h"
#include "layers/common/row_copies.h"

namespace doppio {
namespace {

LayerShape InferBatchReindex(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  if (bottoms[0].rank() == 0)
    throw spec.Mistake("bottom", "bottom 0 is a scalar; BatchReindex picks rows of it");
  if (bottoms[1].rank() != 1) {
    throw spec.Mistake("bottom",
                       "the indices '" + spec.param.bottom(1) + "' are " + bottoms[1].ToString() +
                           "; they need one axis",
                       1);
  }
  if (bottoms[0][0] > INT32_MAX) throw spec.Mistake("bottom", "bottom 0 has more than 2^31 rows");
  LayerShape shape;
  shape.tops = {bottoms[0]};
  shape.tops[0][0] = bottoms[1][0];
  // Backward works on saved row numbers.
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  return shape;
}

template <class T>
class BatchReindexKernel : public Kernel {
 public:
  explicit BatchReindexKernel(const KernelArgs& args)
      : at_(args.spec->At()),
        indices_(ReindexReader(args)),
        count_(args.bottoms[1].shape.count()),
        width_(args.bottoms[0].shape.count(1)),
        backward_(args.backward) {
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) =
        count_ * static_cast<int64_t>(sizeof(int32_t));
  }

  void Forward(const Pass&) override {
    indices_.Read(at_, t_.bottoms[1].template data<T>(), count_, Rows());
    GatherRows(count_, width_, Rows(), t_.bottoms[0].template data<T>(),
               t_.tops[0].template data<T>());
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    T* dx = t_.bottom_grads[0].template data<T>();
    std::fill(dx, dx + indices_.rows() * width_, T(0));
    AddRows(count_, width_, Rows(), t_.top_grads[0].template data<T>(), dx);
  }

 private:
  int32_t* Rows() const { return static_cast<int32_t*>(backward_ ? t_.saved : t_.scratch); }

  const SourceLoc at_;
  const IndexReader indices_;
  const int64_t count_, width_;
  const bool backward_;
};

DOPPIO_REGISTER_LAYER("BatchReindex", LayerType{2, 2, 1, 1, false, false, &InferBatchReindex});
DOPPIO_REGISTER_KERNEL({"BatchReindex", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<BatchReindexKernel>, nullptr});

}  // namespace
}  // namespace doppio
