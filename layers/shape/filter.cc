// Filter: copies those rows of all bottoms but the last that the last bottom selects.
// core/net/graph/varying_rows.h describes the rows of the tops.
#include "core/net/graph/varying_rows.h"
#include "layers/common/row_copies.h"
#include "layers/shape/filter_rows.h"

namespace doppio {
namespace {

LayerShape InferFilter(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const int blobs = static_cast<int>(bottoms.size()) - 1;
  const Shape& selector = bottoms.back();
  const std::string named = "selector '" + spec.param.bottom(blobs) + "' is " + selector.ToString();
  spec.RefuseIf(spec.param.top_size() != blobs, "top",
                "Filter has one top for each bottom except the last, the selector: ", blobs,
                ", got ", spec.param.top_size());
  spec.RefuseIf(selector.rank() == 0 || selector.count() != selector[0] || selector[0] > INT32_MAX,
                {"bottom", blobs}, named, "; it must have one number for each row");
  LayerShape shape;
  for (int i = 0; i < blobs; ++i) {
    const Shape& bottom = bottoms[i];
    spec.RefuseIf(bottom.rank() == 0 || bottom[0] != selector[0], {"bottom", i}, "bottom '",
                  spec.param.bottom(i), "' is ", bottom.ToString(), ", ", named,
                  "; they must have the same first extent");
    shape.tops.push_back(bottom);
  }
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms.assign(bottoms.size(), false);
  shape.no_gradient_bottoms.back() = true;
  // Any top may hold labels, which must stay in single precision.
  shape.exact_tops.assign(shape.tops.size(), true);
  return shape;
}

template <class T>
class FilterKernel : public Kernel, public RowCountSource {
 public:
  explicit FilterKernel(const KernelArgs& args) : rows_(args.bottoms[0].shape[0]) {}

  const int64_t* rows() const override { return &rows_.taken(); }

  void Forward(const Pass&) override {
    rows_.Choose(BottomValues<T>(t_.bottoms.size() - 1));
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      GatherRows(rows_.all(), t_.tops[i].shape.count(1), rows_.source(), BottomValues<T>(i),
                 TopValues<T>(i));
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (!t_.bottom_grads[i]) continue;
      const T* dy = TopGradient<T>(i);
      T* dx = BottomGradient<T>(i);
      const int64_t width = t_.tops[i].shape.count(1);
      for (int64_t row = 0; row < rows_.all(); ++row) {
        const int32_t from = rows_.target()[row];
        T* to = dx + row * width;
        if (dy == nullptr || from == kNoRow) {
          std::fill_n(to, width, T(0));
        } else {
          std::copy_n(dy + from * width, width, to);
        }
      }
    }
  }

 private:
  FilterRows rows_;
};

DOPPIO_REGISTER_LAYER("Filter", LayerType(&InferFilter).Bottoms(2, kAny).Tops(1, kAny).RowsVary());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<FilterKernel>("Filter"));

}  // namespace
}  // namespace doppio
