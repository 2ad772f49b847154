// Upsample on the CPU, and what it means: see upsample_form.h.
#include "layers/common/host_loops.h"
#include "layers/shape/upsample_form.h"

namespace doppio {
namespace {

LayerShape InferUpsample(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const UpsampleForm form = ReadUpsample(spec, bottoms);
  const bool masked = bottoms.size() > 1;
  LayerShape shape;
  shape.tops = {{bottoms[0][0], bottoms[0][1], form.top_height, form.top_width}};
  shape.backward_reads_bottoms = masked;
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  shape.no_gradient_bottoms_may_learn = true;
  if (!masked && shape.tops[0] == bottoms[0]) shape.view = View::kSame;
  return shape;
}

template <class T>
class Upsample : public Kernel {
 public:
  explicit Upsample(const KernelArgs& args)
      : spec_(*args.spec), masked_(args.bottoms.size() > 1), loops_(args.device) {
    std::vector<Shape> shapes;
    for (const TensorSpec& bottom : args.bottoms) shapes.push_back(bottom.shape);
    form_ = ReadUpsample(*args.spec, shapes);
  }

  void Forward(const Pass&) override {
    const T* x = t_.bottoms[0].template data<T>();
    T* y = t_.tops[0].template data<T>();
    if (!masked_) return loops_.Run(form_.top_count(), RepeatPixels<T>{form_, x, y});
    std::fill(y, y + form_.top_count(), T(0));
    const T* mask = t_.bottoms[1].template data<T>();
    for (int64_t n = 0; n < form_.bottom_count(); ++n) {
      const int64_t place = PlaceByMask(form_, mask, n);
      if (place < 0) throw BadMask(spec_, form_);
      y[place] = x[n];
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = t_.top_grads[0].template data<T>();
    T* dx = t_.bottom_grads[0].template data<T>();
    if (!masked_) return loops_.Run(form_.bottom_count(), SumPixels<T>{form_, dy, dx});
    const T* mask = t_.bottoms[1].template data<T>();
    loops_.Run(form_.bottom_count(), ReadByMask<T>{form_, mask, dy, dx});
  }

 private:
  const LayerSpec& spec_;
  const bool masked_;
  const HostLoops loops_;
  UpsampleForm form_;
};

DOPPIO_REGISTER_LAYER("Upsample", LayerType{1, 2, 1, 1, false, false, &InferUpsample});
DOPPIO_REGISTER_KERNEL({"Upsample", DeviceKind::kCpu, "reference", 0, &MakeForFloat<Upsample>,
                        nullptr});

}  // namespace
}  // namespace doppio
