// ROIPooling and PSROIPooling, read from a file.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_
#define DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_

#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/detection/roi_pooling_ops.h"

namespace doppio {

namespace roi_pooling {

inline RoiForm ReadBottoms(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                           const std::string& scale_path, float scale) {
  const Shape &maps = bottoms[0], &rois = bottoms[1];
  if (maps.rank() != 4) {
    throw spec.Mistake(
        "bottom", spec.type() + " takes maps of 4 axes (batch, channels, height, width); found " +
                      maps.ToString());
  }
  if (rois.rank() < 2 || rois.count(1) != kRoiNumbers) {
    throw spec.Mistake("bottom",
                       "regions '" + spec.param.bottom(1) + "' are " + rois.ToString() +
                           "; each is five numbers: image of the batch, xmin, ymin, xmax, ymax",
                       1);
  }
  if (maps.count(2) > INT32_MAX) {
    throw spec.Mistake("bottom",
                       "positions in a map are counted in 32 bits; found " + maps.ToString());
  }
  if (!(scale > 0)) {
    throw spec.Mistake(
        scale_path,
        "spatial_scale, pixels of the map for each pixel of the image, is to be positive");
  }
  RoiForm form;
  form.images = maps[0];
  form.channels = form.top_channels = maps[1];
  form.height = maps[2];
  form.width = maps[3];
  form.rois = rois[0];
  form.scale = scale;
  return form;
}

}  // namespace roi_pooling

inline RoiForm ReadRoiPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ROIPoolingParameter& p = spec.param.roi_pooling_param();
  RoiForm form =
      roi_pooling::ReadBottoms(spec, bottoms, "roi_pooling_param.spatial_scale", p.spatial_scale());
  if (p.pooled_size_size() > 0) {
    throw spec.Mistake("roi_pooling_param.pooled_size", "give pooled_h and pooled_w instead");
  }
  for (const auto& [name, bins] :
       {std::make_pair("pooled_h", p.pooled_h()), {"pooled_w", p.pooled_w()}}) {
    if (bins > 0) continue;
    throw spec.Mistake(std::string("roi_pooling_param.") + name,
                       "ROIPooling needs pooled_h and pooled_w, both positive");
  }
  form.bins_h = p.pooled_h();
  form.bins_w = p.pooled_w();
  return form;
}

inline RoiForm ReadPsRoiPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PSROIPoolingParameter& p = spec.param.psroi_pooling_param();
  RoiForm form = roi_pooling::ReadBottoms(spec, bottoms, "psroi_pooling_param.spatial_scale",
                                          p.spatial_scale());
  for (const auto& [name, value] :
       {std::make_pair("output_dim", p.output_dim()), {"group_size", p.group_size()}}) {
    if (value > 0) continue;
    throw spec.Mistake(std::string("psroi_pooling_param.") + name,
                       "PSROIPooling needs output_dim and group_size, both positive");
  }
  form.top_channels = p.output_dim();
  form.bins_h = form.bins_w = p.group_size();
  if (form.top_channels * form.bins() != form.channels) {
    throw spec.Mistake("bottom", "output_dim * group_size * group_size is " +
                                     std::to_string(form.top_channels * form.bins()) +
                                     ", bottom '" + spec.param.bottom(0) + "' has " +
                                     std::to_string(form.channels) + " channels");
  }
  return form;
}

// From the shapes that a kernel is made for.
inline RoiForm FormOf(RoiForm (*read)(const LayerSpec&, const std::vector<Shape>&),
                      const KernelArgs& args) {
  return read(*args.spec, {args.bottoms[0].shape, args.bottoms[1].shape});
}

inline LayerShape ShapeOf(const RoiForm& form) {
  LayerShape shape;
  shape.tops = {{form.rois, form.top_channels, form.bins_h, form.bins_w}};
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  shape.no_gradient_bottoms_may_learn = true;
  return shape;
}

inline UserError BadRoi(const LayerSpec& spec, const RoiForm& form) {
  return spec.Mistake("bottom",
                      "a region names an image that the batch has not; images are 0.." +
                          std::to_string(form.images - 1),
                      1);
}

// For devices where somebody may look at the regions first.
template <class T>
void CheckRois(const LayerSpec& spec, const RoiForm& form, const T* rois) {
  for (int64_t r = 0; r < form.rois; ++r) {
    if (ImageOfRoi(form, rois + kRoiNumbers * r) < 0) throw BadRoi(spec, form);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_
