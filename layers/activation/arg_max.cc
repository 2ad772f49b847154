// ArgMax: the indices, or the values, of the top_k largest elements along an axis or of each whole
// sample.
#include <algorithm>
#include <numeric>

#include "core/base/threads.h"
#include "core/net/graph/layer.h"

namespace doppio {
namespace {

// The bottom seen as outer x size x inner, where `size` elements compete.
struct ArgMaxExtents {
  int64_t outer, size, inner;
};

ArgMaxExtents ArgMaxExtentsOf(const LayerSpec& spec, const Shape& bottom) {
  const ArgMaxParameter& param = spec.param.argmax_param();
  if (!param.has_axis()) {
    if (bottom.rank() == 0) throw spec.Mistake("bottom", "ArgMax of a scalar");
    return {bottom[0], bottom.count(1), 1};
  }
  if (!bottom.has_axis(param.axis())) {
    throw spec.Mistake("argmax_param.axis", "axis " + std::to_string(param.axis()) +
                                                " does not exist in the bottom, whose shape is " +
                                                bottom.ToString());
  }
  const int axis = bottom.canonical_axis(param.axis());
  return {bottom.count(0, axis), bottom[axis], bottom.count(axis + 1)};
}

LayerShape InferArgMax(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ArgMaxParameter& param = spec.param.argmax_param();
  const ArgMaxExtents e = ArgMaxExtentsOf(spec, bottoms[0]);
  if (param.top_k() < 1 || param.top_k() > e.size) {
    throw spec.Mistake("argmax_param.top_k", "top_k " + std::to_string(param.top_k()) +
                                                 " is not in 1.." + std::to_string(e.size) +
                                                 ", the number of elements compared");
  }
  LayerShape shape;
  if (param.has_axis()) {
    shape.tops = {bottoms[0]};
    shape.tops[0][bottoms[0].canonical_axis(param.axis())] = param.top_k();
  } else {
    // Caffe's shape: samples x 1 x top_k, or x 2 with the values behind the indices; never fewer
    // axes than the bottom.
    std::vector<int64_t> dims(static_cast<size_t>(std::max(3, bottoms[0].rank())), 1);
    dims[0] = bottoms[0][0];
    dims[1] = param.out_max_val() ? 2 : 1;
    dims[2] = param.top_k();
    shape.tops = {Shape(dims)};
  }
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class ArgMaxKernel : public Kernel {
 public:
  explicit ArgMaxKernel(const KernelArgs& args)
      : e_(ArgMaxExtentsOf(*args.spec, args.bottoms[0].shape)),
        top_k_(args.spec->param.argmax_param().top_k()),
        values_(args.spec->param.argmax_param().out_max_val()),
        by_sample_(!args.spec->param.argmax_param().has_axis()),
        order_(top_k_ > 1 ? static_cast<size_t>(e_.size) : 0) {}

  void Forward(const Pass&) override {
    const T* bottom = t_.bottoms[0].template data<T>();
    if (top_k_ == 1) {
      ParallelFor(e_.outer * e_.inner, 1 + 16384 / e_.size, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* x = At(bottom, i, e_.size);
          int64_t best = 0;
          for (int64_t c = 1; c < e_.size; ++c) {
            if (Before(x, c, best)) best = c;
          }
          Put(i, 0, best, x);
        }
      });
      return;
    }
    for (int64_t i = 0; i < e_.outer * e_.inner; ++i) {
      const T* x = At(bottom, i, e_.size);
      std::iota(order_.begin(), order_.end(), 0);
      std::partial_sort(order_.begin(), order_.begin() + top_k_, order_.end(),
                        [&](int64_t a, int64_t b) { return Before(x, a, b); });
      for (int64_t k = 0; k < top_k_; ++k) Put(i, k, order_[static_cast<size_t>(k)], x);
    }
  }

 private:
  // Of equal elements the later one comes first.
  bool Before(const T* x, int64_t a, int64_t b) const {
    const T va = x[a * e_.inner], vb = x[b * e_.inner];
    return va > vb || (va == vb && a > b);
  }
  // Line `i` of an array of outer x size x inner.
  template <class U>
  U* At(U* array, int64_t i, int64_t size) const {
    return array + i / e_.inner * size * e_.inner + i % e_.inner;
  }
  void Put(int64_t i, int64_t k, int64_t index, const T* x) const {
    T* top = t_.tops[0].template data<T>();
    const T value = x[index * e_.inner];
    if (by_sample_ && values_) {
      top[2 * i * top_k_ + k] = static_cast<T>(index);
      top[(2 * i + 1) * top_k_ + k] = value;
    } else {
      At(top, i, top_k_)[k * e_.inner] = values_ ? value : static_cast<T>(index);
    }
  }

  const ArgMaxExtents e_;
  const int64_t top_k_;
  const bool values_, by_sample_;
  std::vector<int64_t> order_;
};

DOPPIO_REGISTER_LAYER("ArgMax", LayerType{1, 1, 1, 1, false, false, &InferArgMax});
DOPPIO_REGISTER_KERNEL({"ArgMax", DeviceKind::kCpu, "reference", 0, &MakeForFloat<ArgMaxKernel>,
                        nullptr});

}  // namespace
}  // namespace doppio
