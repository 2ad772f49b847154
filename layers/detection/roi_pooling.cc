// ROIPooling on the CPU, and what it means: the largest values of a map within each region, in
// bins.
#include "layers/common/host_loops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {
namespace {

LayerShape InferRoiPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  return ShapeOf(ReadRoiPooling(spec, bottoms));
}

template <class T>
class RoiPooling : public Kernel {
 public:
  explicit RoiPooling(const KernelArgs& args)
      : spec_(*args.spec), form_(FormOf(&ReadRoiPooling, args)), loops_(args.device) {
    if (args.backward)
      needs_.saved_bytes = form_.top_count() * static_cast<int64_t>(sizeof(int32_t));
  }

  void Forward(const Pass&) override {
    const T* rois = t_.bottoms[1].template data<T>();
    CheckRois(spec_, form_, rois);
    loops_.Run(form_.top_count(), RoiMax<T>{form_, t_.bottoms[0].template data<T>(), rois,
                                            t_.tops[0].template data<T>(), From(), nullptr});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const RoiMaxPlaneGradient<T> body{form_, t_.bottoms[1].template data<T>(),
                                      t_.top_grads[0].template data<T>(), From(),
                                      t_.bottom_grads[0].template data<T>()};
    ParallelFor(form_.images * form_.channels, 1, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n);
    });
  }

 private:
  int32_t* From() const { return static_cast<int32_t*>(t_.saved); }

  const LayerSpec& spec_;
  const RoiForm form_;
  const HostLoops loops_;
};

DOPPIO_REGISTER_LAYER("ROIPooling", LayerType{2, 2, 1, 1, false, false, &InferRoiPooling});
DOPPIO_REGISTER_KERNEL({"ROIPooling", DeviceKind::kCpu, "reference", 0, &MakeForFloat<RoiPooling>,
                        nullptr});

}  // namespace
}  // namespace doppio
