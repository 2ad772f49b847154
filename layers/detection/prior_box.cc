// PriorBox on the CPU, and what it means: see prior_box_form.h. Only the shapes of its bottoms
// count.
#include "layers/detection/prior_box_form.h"

namespace doppio {
namespace {

LayerShape InferPriorBox(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  LayerShape shape;
  shape.tops = {{1, 2, 4 * ReadPriorBox(spec, bottoms).count()}};
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class PriorBox : public Kernel {
 public:
  explicit PriorBox(const KernelArgs& args)
      : values_(ReadPriorBox(*args.spec, {args.bottoms[0].shape, args.bottoms[1].shape}).Values()) {
  }

  void Forward(const Pass&) override {
    std::copy(values_.begin(), values_.end(), t_.tops[0].template data<T>());
  }

 private:
  const std::vector<float> values_;
};

DOPPIO_REGISTER_LAYER("PriorBox", LayerType{2, 2, 1, 1, false, false, &InferPriorBox});
DOPPIO_REGISTER_KERNEL({"PriorBox", DeviceKind::kCpu, "reference", 0, &MakeForFloat<PriorBox>,
                        nullptr});

}  // namespace
}  // namespace doppio
