// Axpy of SENet: y + a * x, with one factor a per sample and channel of x.
#include <algorithm>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/host_loops.h"

namespace doppio {
namespace {

LayerShape InferAxpy(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape &factors = bottoms[0], &x = bottoms[1], &y = bottoms[2];
  spec.RefuseIf(x.rank() < 2, {"bottom", 1}, "bottom 1 has shape ", x.ToString(),
                "; Axpy needs at least 2 axes: samples and channels");
  spec.RefuseIf(
      factors.rank() < 2 || factors[0] != x[0] || factors[1] != x[1] || factors.count(2) != 1,
      "bottom", "bottom 0 has shape ", factors.ToString(),
      "; one factor for each sample and channel of bottom 1 (", x.ToString(), ") is needed: ", x[0],
      "x", x[1]);
  spec.RefuseIf(y != x, {"bottom", 2}, "bottom 2 has shape ", y.ToString(), ", bottom 1 has ",
                x.ToString(), "; they must be the same");
  LayerShape shape;
  shape.tops = {x};
  shape.backward_reads_tops = false;
  shape.passes_gradient = {false, false, true};
  return shape;
}

template <class T>
class Axpy : public Kernel {
 public:
  explicit Axpy(const KernelArgs& args)
      : runs_(args.bottoms[0].shape.count()), length_(args.bottoms[1].shape.count(2)) {}

  void Forward(const Pass&) override {
    const T *a = BottomValues<T>(0), *x = BottomValues<T>(1);
    const T* y = BottomValues<T>(2);
    T* top = TopValues<T>(0);
    ForEachRow(runs_, length_, [=](int64_t run, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) top[i] = a[run] * x[i] + y[i];
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const T *a = BottomValues<T>(0), *x = BottomValues<T>(1);
    const T* dy = TopGradient<T>(0);
    T *da = BottomGradient<T>(0), *dx = BottomGradient<T>(1);
    // Null if y's gradient shares the memory of dy.
    T* to_y = BottomGradient<T>(2);
    ForEachRow(runs_, length_, [=](int64_t run, int64_t begin, int64_t end) {
      if (da != nullptr) {
        double sum = 0;
        for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(x[i] * dy[i]);
        da[run] = static_cast<T>(sum);
      }
      if (to_y != nullptr) std::copy(dy + begin, dy + end, to_y + begin);
      if (dx == nullptr) return;
      for (int64_t i = begin; i < end; ++i) dx[i] = a[run] * dy[i];
    });
  }

 private:
  const int64_t runs_, length_;
};

DOPPIO_REGISTER_LAYER("Axpy", LayerType(&InferAxpy).Bottoms(3).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Axpy>("Axpy"));

}  // namespace
}  // namespace doppio
