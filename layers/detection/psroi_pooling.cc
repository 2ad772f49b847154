// PSROIPooling: shape inference and CPU kernel. Each element of the top is the mean of a bin of a
// region; each bin reads bottom channels of its own.
#include "core/net/contract/layer.h"
#include "layers/detection/roi_kernel.h"

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
using PsRoiPooling = RoiKernel<T, MeanOfRois>;

DOPPIO_REGISTER_LAYER("PSROIPooling",
                      LayerType(&InferPsroiPooling).Bottoms(2).Tops(1).DrawnAs("pooling"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<PsRoiPooling>("PSROIPooling"));

}  // namespace
}  // namespace doppio
