// Layers that resize images or that work on regions of them.
#include <cmath>

#include "layers/detection/prior_box_form.h"
#include "layers/shape/interp_kernel.h"
#include "layers/shape/upsample_ops.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

// Returns the scale with which Resize maps the extent `from` to `to`: ONNX rounds from * scale
// down. Sizes instead of scales would fix the batch size too.
float Factor(int64_t from, int64_t to) {
  float factor = static_cast<float>(to) / static_cast<float>(from);
  // Some runtimes multiply in double precision and some in single precision.
  while (static_cast<double>(factor) * static_cast<double>(from) < static_cast<double>(to)) {
    factor = std::nextafter(factor, 2 * factor);
  }
  return factor;
}

std::string AddResize(const OnnxLayer& layer, const std::string& value, float factor_h,
                      float factor_w, const OnnxAttributes& how) {
  return layer.Add("Resize", {value, "", layer.Floats({4}, {1, 1, factor_h, factor_w})}, how);
}

void AddInterp(const OnnxLayer& layer) {
  const InterpForm& form = layer.Form<InterpForm>();
  std::string value = layer.in();
  if (form.h.extent != form.h.input || form.w.extent != form.w.input) {
    value = layer.Add("Slice",
                      {value, layer.Integers({form.h.begin, form.w.begin}),
                       layer.Integers({form.h.begin + form.h.extent, form.w.begin + form.w.extent}),
                       layer.Integers({2, 3})});
  }
  layer.SetTop(AddResize(layer, value, Factor(form.h.extent, form.h.output),
                         Factor(form.w.extent, form.w.output),
                         {{"mode", std::string("linear")},
                          {"coordinate_transformation_mode", std::string("align_corners")}}));
}

void AddUpsample(const OnnxLayer& layer) {
  layer.spec().RefuseIf(
      layer.bottoms() > 1, {"bottom", 1},
      "Upsample with a mask has no form in ONNX, whose indices count through the whole batch");
  const UpsampleGrid& grid = layer.Form<UpsampleForm>().grid;
  layer.SetTop(AddResize(layer, layer.in(), static_cast<float>(grid.scale_h),
                         static_cast<float>(grid.scale_w),
                         {{"mode", std::string("nearest")},
                          {"coordinate_transformation_mode", std::string("asymmetric")},
                          {"nearest_mode", std::string("floor")}}));
}

void AddRoiPooling(const OnnxLayer& layer) {
  const ROIPoolingParameter& p = layer.spec().param.roi_pooling_param();
  layer.spec().RefuseIf(p.pad_ratio() > 0, "roi_pooling_param.pad_ratio",
                        "ROIPooling with pad_ratio has no form in ONNX");
  const Shape& regions = layer.bottom(1);
  const std::string rows = layer.Reshape(layer.in(1), regions, {regions[0], regions.count(1)});
  layer.SetTop(layer.Add("MaxRoiPool", {layer.in(0), rows},
                         {{"pooled_shape", std::vector<int64_t>{p.pooled_h(), p.pooled_w()}},
                          {"spatial_scale", p.spatial_scale()}}));
}

// The values depend on shapes only, so they become a constant.
void AddPriorBox(const OnnxLayer& layer) {
  const PriorBoxForm& form = layer.Form<PriorBoxForm>();
  layer.SetTop(layer.Floats(layer.top(), form.Values<float>()));
}

// Bottom 1 holds regions of images that are as large as bottom 0, divided by the scale.
OnnxRange RegionsOfImages(const LayerParameter& layer, int bottom, const Shape& bottom_0) {
  if (bottom != 1) return {};
  const double scale = layer.roi_pooling_param().spatial_scale();
  return {bottom_0[0], static_cast<double>(bottom_0[3]) / scale,
          static_cast<double>(bottom_0[2]) / scale};
}

DOPPIO_REGISTER(OnnxMappings, "Interp", {"Slice, Resize", &AddInterp});
DOPPIO_REGISTER(OnnxMappings, "Upsample", {"Resize; not with a mask", &AddUpsample});
DOPPIO_REGISTER(OnnxMappings, "ROIPooling",
                {"Reshape, MaxRoiPool; not with pad_ratio", &AddRoiPooling, OnnxRole::kComputes,
                 &RegionsOfImages});
DOPPIO_REGISTER(OnnxMappings, "PriorBox", {"a constant", &AddPriorBox});

}  // namespace
}  // namespace doppio
