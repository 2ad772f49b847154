// BatchReindex copies the rows of bottom 0 that the indices in bottom 1 select. An index may occur
// several times.
#include "core/net/contract/layer.h"
#include "layers/common/row_copies.h"
#include "layers/shape/batch_reindex_form.h"

namespace doppio {
namespace {

LayerShape InferBatchReindex(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  spec.RefuseIf(bottoms[0].rank() == 0, "bottom",
                "bottom 0 is a scalar; BatchReindex selects rows from it");
  spec.RefuseIf(bottoms[1].rank() != 1, {"bottom", 1}, "the indices '", spec.param.bottom(1),
                "' are ", bottoms[1].ToString(), "; they must have one axis");
  spec.RefuseIf(bottoms[0][0] > INT32_MAX, "bottom", "bottom 0 has more than 2^31 rows");
  LayerShape shape;
  shape.form = BatchReindexForm{IndexReader(bottoms[0][0], "bottom 0 has no more rows"),
                                bottoms[1].count(), bottoms[0].count(1)};
  shape.tops = {bottoms[0]};
  shape.tops[0][0] = bottoms[1][0];
  // Backward reads the saved row indices.
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  return shape;
}

template <class T>
class BatchReindexKernel : public FormKernel<BatchReindexForm> {
 public:
  explicit BatchReindexKernel(const KernelArgs& args)
      : FormKernel(args), at_(args.at), backward_(args.backward) {
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) = form_.count * kBytesOf<int32_t>;
  }

  void Forward(const Pass&) override {
    form_.indices.Read(at_, BottomValues<T>(1), form_.count, Rows());
    GatherRows(form_.count, form_.width, Rows(), BottomValues<T>(0), TopValues<T>(0));
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    std::fill(dx, dx + form_.indices.rows() * form_.width, T(0));
    AddRows(form_.count, form_.width, Rows(), TopGradient<T>(0), dx);
  }

 private:
  // Returns the row indices that Forward has read.
  int32_t* Rows() const { return static_cast<int32_t*>(backward_ ? t_.saved : t_.scratch); }

  const SourceLoc at_;
  const bool backward_;
};

DOPPIO_REGISTER_LAYER("BatchReindex", LayerType(&InferBatchReindex).Bottoms(2).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<BatchReindexKernel>("BatchReindex"));

}  // namespace
}  // namespace doppio
