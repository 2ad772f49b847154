// ArgMax: the indices or values of the top_k largest elements along an axis, or of each whole
// sample if no axis is given.
#include <algorithm>
#include <numeric>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"

namespace doppio {
namespace {

// The bottom as outer x size x inner, where the `size` elements of each line are compared, and the
// form of the result.
struct ArgMaxForm {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t top_k = 1;
  // The top holds values: instead of the indices if an axis is given, else after them.
  bool values = false;
  bool by_sample = false;  // no axis is given, so all elements of a sample are compared
};

ArgMaxForm ReadArgMax(const LayerSpec& spec, const Shape& bottom) {
  const ArgMaxParameter& param = spec.param.argmax_param();
  ArgMaxForm form;
  form.by_sample = !param.has_axis();
  form.values = param.out_max_val();
  form.top_k = param.top_k();
  if (form.by_sample) {
    spec.RefuseIf(bottom.rank() == 0, "bottom", "ArgMax of a scalar");
    form.outer = bottom[0];
    form.size = bottom.count(1);
  } else {
    const int axis = AxisOf(spec, "argmax_param.axis", param.axis(), bottom);
    form.outer = bottom.count(0, axis);
    form.size = bottom[axis];
    form.inner = bottom.count(axis + 1);
  }
  spec.RefuseIf(param.top_k() < 1 || param.top_k() > form.size, "argmax_param.top_k", "top_k ",
                param.top_k(), " is not in 1..", form.size, ", the number of elements compared");
  return form;
}

LayerShape InferArgMax(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ArgMaxParameter& param = spec.param.argmax_param();
  LayerShape shape;
  shape.form = ReadArgMax(spec, bottoms[0]);
  if (param.has_axis()) {
    shape.tops = {bottoms[0]};
    shape.tops[0][bottoms[0].canonical_axis(param.axis())] = param.top_k();
  } else {
    // Caffe's shape: samples x 1 x top_k, or samples x 2 x top_k with the values after the indices.
    // The top has at least as many axes as the bottom.
    std::vector<int64_t> dims(std::max(3, bottoms[0].rank()), 1);
    dims[0] = bottoms[0][0];
    dims[1] = param.out_max_val() ? 2 : 1;
    dims[2] = param.top_k();
    shape.tops = {Shape(dims)};
  }
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class ArgMaxKernel : public FormKernel<ArgMaxForm> {
 public:
  explicit ArgMaxKernel(const KernelArgs& args)
      : FormKernel(args), order_(form_.top_k > 1 ? static_cast<size_t>(form_.size) : 0) {}

  void Forward(const Pass&) override {
    const T* bottom = BottomValues<T>(0);
    if (form_.top_k == 1) {
      ParallelFor(form_.outer * form_.inner, 1 + 16384 / form_.size,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const T* x = At(bottom, i, form_.size);
                      int64_t best = 0;
                      for (int64_t c = 1; c < form_.size; ++c) {
                        if (Before(x, c, best)) best = c;
                      }
                      Put(i, 0, best, x);
                    }
                  });
      return;
    }
    for (int64_t i = 0; i < form_.outer * form_.inner; ++i) {
      const T* x = At(bottom, i, form_.size);
      std::iota(order_.begin(), order_.end(), 0);
      std::partial_sort(order_.begin(), order_.begin() + form_.top_k, order_.end(),
                        [&](int64_t a, int64_t b) { return Before(x, a, b); });
      for (int64_t k = 0; k < form_.top_k; ++k) Put(i, k, order_[k], x);
    }
  }

 private:
  // Returns true if element `a` of line `x` ranks before element `b`. Of equal elements, the later
  // one ranks first.
  bool Before(const T* x, int64_t a, int64_t b) const {
    const T va = x[a * form_.inner], vb = x[b * form_.inner];
    return va > vb || (va == vb && a > b);
  }
  // Returns the first element of line `i` of an array with outer x size x inner elements.
  template <class U>
  U* At(U* array, int64_t i, int64_t size) const {
    return array + i / form_.inner * size * form_.inner + i % form_.inner;
  }
  // Writes element `index` of line `x` to the top as result `k` of line `i`.
  void Put(int64_t i, int64_t k, int64_t index, const T* x) const {
    T* top = TopValues<T>(0);
    const T value = x[index * form_.inner];
    if (form_.by_sample && form_.values) {
      top[2 * i * form_.top_k + k] = static_cast<T>(index);
      top[(2 * i + 1) * form_.top_k + k] = value;
    } else {
      At(top, i, form_.top_k)[k * form_.inner] = form_.values ? value : static_cast<T>(index);
    }
  }

  std::vector<int64_t> order_;
};

DOPPIO_REGISTER_LAYER("ArgMax", LayerType(&InferArgMax).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ArgMaxKernel>("ArgMax"));

}  // namespace
}  // namespace doppio
