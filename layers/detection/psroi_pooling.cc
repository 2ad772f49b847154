// PSROIPooling on the CPU, and what it means: the mean of a map within each region, in bins of
// which each has maps of its own.
#include "layers/common/host_loops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {
namespace {

LayerShape InferPsroiPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  return ShapeOf(ReadPsRoiPooling(spec, bottoms));
}

template <class T>
class PsRoiPooling : public Kernel {
 public:
  explicit PsRoiPooling(const KernelArgs& args)
      : spec_(*args.spec), form_(FormOf(&ReadPsRoiPooling, args)), loops_(args.device) {}

  void Forward(const Pass&) override {
    const T* rois = t_.bottoms[1].template data<T>();
    CheckRois(spec_, form_, rois);
    loops_.Run(form_.top_count(), PsRoiMean<T>{form_, t_.bottoms[0].template data<T>(), rois,
                                               t_.tops[0].template data<T>(), nullptr});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const PsRoiMeanPlaneGradient<T> body{form_, t_.bottoms[1].template data<T>(),
                                         t_.top_grads[0].template data<T>(),
                                         t_.bottom_grads[0].template data<T>()};
    ParallelFor(form_.images * form_.channels, 1, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n);
    });
  }

 private:
  const LayerSpec& spec_;
  const RoiForm form_;
  const HostLoops loops_;
};

DOPPIO_REGISTER_LAYER("PSROIPooling", LayerType{2, 2, 1, 1, false, false, &InferPsroiPooling});
DOPPIO_REGISTER_KERNEL({"PSROIPooling", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<PsRoiPooling>, nullptr});

}  // namespace
}  // namespace doppio
