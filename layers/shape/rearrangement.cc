// Permute, Crop, Reorg and ShuffleChannel: copies of the bottom's elements to other places.
#include "layers/shape/rearrangement.h"

#include "core/base/threads.h"

namespace doppio {
namespace {

LayerShape InferRearrangement(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Rearrangement r = FindRearrangement(spec, bottoms);
  LayerShape shape;
  shape.tops = {r.top};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (bottoms.size() == 1 && r.box.keeps_order()) shape.view = View::kReshape;
  if (bottoms.size() == 2) shape.no_gradient_bottoms = {false, true};
  shape.no_gradient_bottoms_may_learn = true;
  return shape;
}

// f(element of the bottom, of the top) for the whole box, in the order of the top.
template <class F>
void ForEachElement(const StridedBox& box, const F& f) {
  const StridedBox::Axis run = box.axes.empty() ? StridedBox::Axis{1, 1, 1} : box.axes.back();
  const int64_t runs = run.extent == 0 ? 0 : box.count() / run.extent;
  ParallelFor(runs, 1 + 16384 / (run.extent + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, bottom = box.bottom_offset, top = 0;
      for (size_t a = box.axes.size(); a-- > 1;) {
        const StridedBox::Axis& axis = box.axes[a - 1];
        bottom += rest % axis.extent * axis.bottom;
        top += rest % axis.extent * axis.top;
        rest /= axis.extent;
      }
      for (int64_t i = 0; i < run.extent; ++i) f(bottom + i * run.bottom, top + i * run.top);
    }
  });
}

template <class T>
class RearrangementKernel : public Kernel {
 public:
  explicit RearrangementKernel(const KernelArgs& args) : box_(FindRearrangement(args).box) {}

  void Forward(const Pass&) override {
    const T* x = t_.bottoms[0].template data<T>();
    T* y = t_.tops[0].template data<T>();
    ForEachElement(box_, [=](int64_t bottom, int64_t top) { y[top] = x[bottom]; });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = t_.top_grads[0].template data<T>();
    T* dx = t_.bottom_grads[0].template data<T>();
    const int64_t count = t_.bottoms[0].count();
    if (box_.count() != count) std::fill(dx, dx + count, T(0));
    ForEachElement(box_, [=](int64_t bottom, int64_t top) { dx[bottom] = dy[top]; });
  }

 private:
  const StridedBox box_;
};

bool RegisterAllRearrangement() {
  for (const RearrangingLayer& layer : kRearrangingLayers) {
    LayerTypes::Get().Add(layer.type, LayerType{layer.bottoms, layer.bottoms, 1, 1, false, false,
                                                &InferRearrangement});
    KernelTypes::Get().Add({layer.type, DeviceKind::kCpu, "reference", 0,
                            &MakeForFloat<RearrangementKernel>, nullptr});
  }
  return true;
}
[[maybe_unused]] const bool rearrangement_registered = RegisterAllRearrangement();

}  // namespace
}  // namespace doppio
