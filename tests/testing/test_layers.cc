// Two layers that only tests use: TestInput, whose tops hold what the test writes, and TestProbe, a loss that is a
// fixed combination of its bottoms, so that every element of every top matters differently.
#include "core/net/layer.h"
#include "tests/testing/test_layers.h"

namespace doppio {

double ProbeWeight(int bottom, int64_t element) {
  return Random(7, Stream("probe", "", bottom)).Uniform(0, static_cast<uint64_t>(element)) * 2 - 0.7;
}

namespace {

LayerShape InferInput(const LayerSpec& spec, const std::vector<Shape>&) {
  LayerShape shape;
  for (const BlobShape& s : spec.param.input_param().shape()) {
    shape.tops.push_back(Shape(std::vector<int64_t>(s.dim().begin(), s.dim().end())));
  }
  shape.has_backward = false;
  shape.persistent_tops = true;
  return shape;
}

class TestInput : public Kernel {
 public:
  void Forward(const Pass&) override {}
};

LayerShape InferProbe(const LayerSpec&, const std::vector<Shape>&) {
  LayerShape shape;
  shape.tops = {Shape{}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.loss = true;
  return shape;
}

template <class T>
class TestProbe : public Kernel {
 public:
  explicit TestProbe(const KernelArgs&) {}

  void Forward(const Pass&) override {
    double sum = 0;
    for (size_t b = 0; b < t_.bottoms.size(); ++b) {
      const T* x = t_.bottoms[b].data<T>();
      for (int64_t i = 0; i < t_.bottoms[b].count(); ++i) {
        sum += ProbeWeight(static_cast<int>(b), i) * static_cast<double>(x[i]);
      }
    }
    *t_.tops[0].data<T>() = static_cast<T>(sum);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const double weight = *t_.top_grads[0].data<T>();
    for (size_t b = 0; b < t_.bottoms.size(); ++b) {
      if (!t_.bottom_grads[b]) continue;
      T* dx = t_.bottom_grads[b].data<T>();
      for (int64_t i = 0; i < t_.bottoms[b].count(); ++i) {
        dx[i] = static_cast<T>(weight * ProbeWeight(static_cast<int>(b), i));
      }
    }
  }
};

LayerType InputType() {
  LayerType type;
  type.max_bottoms = 0;
  type.min_tops = 1;
  type.infer = &InferInput;
  return type;
}

LayerType ProbeType() {
  LayerType type;
  type.min_bottoms = 1;
  type.min_tops = type.max_tops = 1;
  type.infer = &InferProbe;
  return type;
}

std::unique_ptr<Kernel> MakeTestInput(const KernelArgs&) { return std::make_unique<TestInput>(); }

DOPPIO_REGISTER_LAYER("TestInput", InputType());
DOPPIO_REGISTER_LAYER("TestProbe", ProbeType());
// Also under the fast engine's name, so that a net can be forced onto one engine.
DOPPIO_REGISTER_KERNEL({"TestInput", DeviceKind::kCpu, "reference", 0, &MakeTestInput, nullptr});
DOPPIO_REGISTER_KERNEL({"TestInput", DeviceKind::kCpu, "onednn", 1, &MakeTestInput, nullptr});
DOPPIO_REGISTER_KERNEL({"TestProbe", DeviceKind::kCpu, "reference", 0, &MakeForFloat<TestProbe>, nullptr});
DOPPIO_REGISTER_KERNEL({"TestProbe", DeviceKind::kCpu, "onednn", 1, &MakeForFloat<TestProbe>, nullptr});

}  // namespace
}  // namespace doppio
