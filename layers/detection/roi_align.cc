// ROIAlign: shape inference and CPU kernel. Each element of the top is the mean over a grid of
// points in a bin of a region or, in the form of Cascade R-CNN, the value at a corner of bins.
#include "core/net/contract/layer.h"
#include "layers/detection/roi_align_ops.h"
#include "layers/detection/roi_kernel.h"

namespace doppio {
namespace {

// Reads the form of Mask R-CNN.
RoiForm ReadMeansOfBins(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ROIAlignParameter& p = spec.param.roi_align_param();
  RoiForm form = ReadRoiBottoms(spec, bottoms, "roi_align_param.spatial_scale", p.spatial_scale());
  ReadRoiBins(spec, "roi_align_param", p.pooled_h(), p.pooled_w(), &form);
  form.samples = ReadRoiSamples(spec, "roi_align_param.sampling_ratio", p.sampling_ratio(), 0);
  return form;
}

// Reads the form of Cascade R-CNN.
RoiForm ReadCornersOfBins(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  RoiForm form = ReadRoiPoolingParam(spec, bottoms);
  ++form.bins_h;
  ++form.bins_w;
  form.at_corners = true;
  return form;
}

LayerShape InferRoiAlign(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const bool corners = spec.param.has_roi_pooling_param();
  spec.RefuseIf(corners == spec.param.has_roi_align_param(), corners ? "roi_align_param" : "type",
                "give ROIAlign either roi_align_param, for means over bins, or roi_pooling_param, "
                "for values at the corners of bins (Cascade R-CNN)");
  return ShapeOfRois(spec,
                     corners ? ReadCornersOfBins(spec, bottoms) : ReadMeansOfBins(spec, bottoms));
}

template <class T>
using RoiAlign = RoiKernel<T, AlignedRois>;
template <class T>
using RoiCorners = RoiKernel<T, CornersOfRois>;

std::unique_ptr<Kernel> MakeRoiAlign(const KernelArgs& args) {
  const bool corners = args.Form<RoiPoolingForm>().rois.at_corners;
  return corners ? MakeForFloat<RoiCorners>(args) : MakeForFloat<RoiAlign>(args);
}

DOPPIO_REGISTER_LAYER(
    "ROIAlign",
    LayerType(&InferRoiAlign).Bottoms(2).Tops(1).DrawnAs("pooling").Reads({"roi_pooling_param"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("ROIAlign", &MakeRoiAlign));

}  // namespace
}  // namespace doppio
