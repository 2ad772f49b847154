// Every activation of activation_ops.h on the CPU: layer type, kernel and registration.
#include "core/base/independent_iterations.h"
#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/activation/activation_ops.h"
#include "layers/common/stored_kernel.h"

namespace doppio {
namespace {

// Smallest number of elements for which a second thread pays.
constexpr int64_t kActivationGrain = 8192;

template <class Op>
struct Activation {
  static LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
    const Op op = Op::From(spec);
    LayerShape shape;
    shape.form = op;
    shape.tops = {bottoms[0]};
    shape.backward_reads_bottoms = op.reads() == Reads::kBottom;
    shape.backward_reads_tops = op.reads() == Reads::kTop;
    shape.in_place_ok = true;
    shape.has_backward = Op::kHasGradient;
    return shape;
  }

  // Accepts every layout, except a padded one if the operation does not keep zero.
  template <class T>
  class Cpu : public Kernel {
   public:
    explicit Cpu(const KernelArgs& args) : op_(args.Form<Op>()) {
      const Layout& there = args.bottoms[0].layout;
      const Layout layout = op_.keeps_zero() || !there.padded() ? there : Layout();
      needs_.bottoms = needs_.tops = {layout};
    }

    void Forward(const Pass&) override {
      const T* x = BottomValues<T>(0);
      T* y = TopValues<T>(0);
      // Captures a copy of the operation, so that the compiler knows that stores to y do not change
      // it.
      op_.Visit([&](const auto& formula) {
        ParallelFor(t_.tops[0].stored(), kActivationGrain,
                    [x, y, op = formula](int64_t begin, int64_t end) {
                      DOPPIO_INDEPENDENT_ITERATIONS
                      for (int64_t i = begin; i < end; ++i)
                        y[i] = static_cast<T>(op.Forward(Widen(x[i])));
                    });
      });
    }

    void Backward(const Pass&, const std::vector<bool>&) override {
      if (!t_.bottom_grads[0]) return;
      const T* dy = TopGradient<T>(0);
      T* dx = BottomGradient<T>(0);
      const T* v = op_.reads() == Reads::kBottom ? BottomValues<T>(0)
                   : op_.reads() == Reads::kTop  ? TopValues<T>(0)
                                                 : dy;
      op_.Visit([&](const auto& formula) {
        ParallelFor(t_.bottom_grads[0].stored(), kActivationGrain,
                    [v, dy, dx, op = formula](int64_t begin, int64_t end) {
                      DOPPIO_INDEPENDENT_ITERATIONS
                      for (int64_t i = begin; i < end; ++i)
                        dx[i] = static_cast<T>(op.Gradient(Widen(v[i]), Widen(dy[i])));
                    });
      });
    }

   private:
    const Op op_;
  };

  static bool Register() {
    LayerTypes::Get().Add(Op::kType,
                          LayerType(&Infer).Bottoms(1).Tops(1).KeepsCoordinates().RowByRow());
    return KernelTypes::Get().Add(StoredKernelType<Cpu>(Op::kType));
  }
};

template <class... Ops>
bool RegisterAllActivation(const std::tuple<Ops...>*) {
  return (Activation<Ops>::Register() && ...);
}
[[maybe_unused]] const bool activation_registered =
    RegisterAllActivation(static_cast<AllActivations*>(nullptr));

}  // namespace
}  // namespace doppio
