// Softsign: x / (1 + |x|), element by element. Glorot, Bengio, "Understanding the difficulty of
// training deep feedforward neural networks", AISTATS 2010. The example of docs/extending.md.
#include <cmath>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"

namespace doppio {
namespace {

LayerShape InferSoftsign(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  spec.RefuseIf(bottoms[0].rank() == 0, "bottom", "Softsign needs at least one axis; got a scalar");
  LayerShape shape;
  shape.tops = {bottoms[0]};
  shape.backward_reads_tops = false;  // its gradient follows from x alone
  return shape;
}

template <class T>
class Softsign : public Kernel {
 public:
  explicit Softsign(const KernelArgs& args) : count_(args.bottoms[0].shape.count()) {}

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    ParallelFor(count_, kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] / (1 + std::abs(x[i]));
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const T *x = BottomValues<T>(0), *dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    if (dx == nullptr) return;
    ParallelFor(count_, kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T root = 1 + std::abs(x[i]);
        dx[i] = dy[i] / (root * root);
      }
    });
  }

 private:
  static constexpr int64_t kGrain = 8192;  // elements that are worth a thread
  const int64_t count_;
};

DOPPIO_REGISTER_LAYER("Softsign", LayerType(&InferSoftsign).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Softsign>("Softsign"));

}  // namespace
}  // namespace doppio
