// PSROIAlign: shape inference and CPU kernel. Each element of the top is the mean over a grid of
// points in a bin of a region; each bin reads a bottom channel of its own.
#include "core/net/contract/layer.h"
#include "layers/detection/roi_align_ops.h"
#include "layers/detection/roi_kernel.h"

namespace doppio {
namespace {

LayerShape InferPsroiAlign(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PSROIAlignParameter& p = spec.param.psroi_align_param();
  RoiForm form =
      ReadRoiBottoms(spec, bottoms, "psroi_align_param.spatial_scale", p.spatial_scale());
  ReadRoiGroups(spec, "psroi_align_param", p.output_dim(), p.group_size(), &form);
  spec.RefuseIf(p.sample_num() < 0, "psroi_align_param.sample_num",
                "sample_num, the number of points of a bin along each axis, must not be negative");
  form.samples = ReadRoiSamples(spec, "psroi_align_param.sample_num", p.sample_num(), 2);
  return ShapeOfRois(spec, form);
}

template <class T>
using PsRoiAlign = RoiKernel<T, PsAlignedRois>;

DOPPIO_REGISTER_LAYER("PSROIAlign",
                      LayerType(&InferPsroiAlign).Bottoms(2).Tops(1).DrawnAs("pooling"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<PsRoiAlign>("PSROIAlign"));

}  // namespace
}  // namespace doppio
