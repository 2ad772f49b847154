// PSROIPooling: shape inference and CPU kernel. Each element of the top is the mean of a bin of a
// region; each bin reads bottom channels of its own.
#include "core/net/contract/layer.h"
#include "layers/common/host_loops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {

void ReadRoiGroups(const LayerSpec& spec, const std::string& param, int64_t output_dim,
                   int64_t group_size, RoiForm* form) {
  for (const auto& [name, value] :
       {std::make_pair("output_dim", output_dim), {"group_size", group_size}}) {
    spec.RefuseIf(!(value > 0), param + "." + name, spec.param.type(),
                  " needs output_dim and group_size, both positive");
  }
  form->top_channels = output_dim;
  form->bins_h = form->bins_w = group_size;
  form->own_channels = true;
  spec.RefuseIf(output_dim * form->bins() != form->channels, "bottom",
                "output_dim * group_size * group_size is ", output_dim * form->bins(), ", bottom '",
                spec.param.bottom(0), "' has ", form->channels, " channels");
}

namespace {

LayerShape InferPsroiPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PSROIPoolingParameter& p = spec.param.psroi_pooling_param();
  RoiForm form =
      ReadRoiBottoms(spec, bottoms, "psroi_pooling_param.spatial_scale", p.spatial_scale());
  ReadRoiGroups(spec, "psroi_pooling_param", p.output_dim(), p.group_size(), &form);
  return ShapeOfRois(spec, form);
}

template <class T>
class PsRoiPooling : public FormKernel<RoiPoolingForm> {
 public:
  explicit PsRoiPooling(const KernelArgs& args) : FormKernel(args), loops_(args.device) {}

  void Forward(const Pass&) override {
    const T* rois = BottomValues<T>(1);
    CheckRois(form_, rois);
    loops_.Run(form_.rois.top_count(),
               PsRoiMean<T>{form_.rois, BottomValues<T>(0), rois, TopValues<T>(0), nullptr});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const PsRoiMeanPlaneGradient<T> body{form_.rois, BottomValues<T>(1), TopGradient<T>(0),
                                         BottomGradient<T>(0)};
    ParallelFor(form_.rois.images * form_.rois.channels, 1, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n);
    });
  }

 private:
  const HostLoops loops_;
};

DOPPIO_REGISTER_LAYER("PSROIPooling",
                      LayerType(&InferPsroiPooling).Bottoms(2).Tops(1).DrawnAs("pooling"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<PsRoiPooling>("PSROIPooling"));

}  // namespace
}  // namespace doppio
