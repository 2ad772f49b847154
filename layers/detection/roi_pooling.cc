// ROIPooling: shape inference and CPU kernel. Each element of the top is the maximum of a bin of a
// region.
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/detection/roi_kernel.h"

namespace doppio {

RoiForm ReadRoiBottoms(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                       const std::string& scale_path, float scale) {
  const Shape &maps = bottoms[0], &rois = bottoms[1];
  CheckImages(spec, maps);
  spec.RefuseIf(rois.rank() < 2 || rois.count(1) != kRoiNumbers, {"bottom", 1}, "regions '",
                spec.param.bottom(1), "' are ", rois.ToString(),
                "; each must have five numbers: image of the batch, xmin, ymin, xmax, ymax");
  spec.RefuseIf(maps.count(2) > INT32_MAX, "bottom",
                "positions in a map are counted in 32 bits; found ", maps.ToString());
  spec.RefuseIf(!(scale > 0), scale_path,
                "spatial_scale, the number of map pixels per image pixel, must be positive");
  RoiForm form;
  form.images = maps[0];
  form.channels = form.top_channels = maps[1];
  form.height = maps[2];
  form.width = maps[3];
  form.rois = rois[0];
  form.scale = scale;
  return form;
}

LayerShape ShapeOfRois(const LayerSpec& spec, const RoiForm& form) {
  LayerShape shape;
  shape.tops = {{form.rois, form.top_channels, form.bins_h, form.bins_w}};
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  shape.no_gradient_bottoms_may_learn = true;
  shape.form = RoiPoolingForm{
      form, spec.Mistake("bottom",
                         StrCat("a region names an image that is not in the batch; images are 0..",
                                form.images - 1),
                         1)};
  return shape;
}

void ReadRoiBins(const LayerSpec& spec, const std::string& param, int64_t pooled_h,
                 int64_t pooled_w, RoiForm* form) {
  for (const auto& [name, bins] : {std::make_pair("pooled_h", pooled_h), {"pooled_w", pooled_w}}) {
    spec.RefuseIf(bins <= 0, param + "." + name, spec.param.type(),
                  " needs pooled_h and pooled_w, both positive");
  }
  form->bins_h = pooled_h;
  form->bins_w = pooled_w;
}

int64_t ReadRoiSamples(const LayerSpec& spec, const std::string& path, int64_t given,
                       int64_t usual) {
  constexpr int64_t kMost = 1000;
  spec.RefuseIf(given > kMost, path, path.substr(path.find('.') + 1), " is ", given,
                ", but a bin has at most ", kMost, " points along each axis");
  return given > 0 ? given : usual;
}

RoiForm ReadRoiPoolingParam(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ROIPoolingParameter& p = spec.param.roi_pooling_param();
  RoiForm form =
      ReadRoiBottoms(spec, bottoms, "roi_pooling_param.spatial_scale", p.spatial_scale());
  spec.RefuseIf(p.pooled_size_size() > 0, "roi_pooling_param.pooled_size",
                "give pooled_h and pooled_w instead");
  ReadRoiBins(spec, "roi_pooling_param", p.pooled_h(), p.pooled_w(), &form);
  spec.RefuseIf(
      !(p.pad_ratio() >= 0), "roi_pooling_param.pad_ratio",
      "pad_ratio, the part of a region's size that is added on each side, must not be negative");
  form.pad_ratio = p.pad_ratio();
  return form;
}

namespace {

LayerShape InferRoiPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  return ShapeOfRois(spec, ReadRoiPoolingParam(spec, bottoms));
}

template <class T>
using RoiPooling = RoiKernel<T, MaxOfRois>;

DOPPIO_REGISTER_LAYER("ROIPooling",
                      LayerType(&InferRoiPooling).Bottoms(2).Tops(1).DrawnAs("pooling"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<RoiPooling>("ROIPooling"));

}  // namespace
}  // namespace doppio
