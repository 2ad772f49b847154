// Upsample, read from a file: larger images, by repeating pixels or, with a second bottom, by
// putting each value back where MAX pooling took one from, and zeros elsewhere.
#ifndef DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_
#define DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_

#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/shape/upsample_ops.h"

namespace doppio {

inline UpsampleForm ReadUpsample(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const UpsampleParameter& p = spec.param.upsample_param();
  const std::string path = "upsample_param.";
  const Shape& bottom = bottoms[0];
  const bool masked = bottoms.size() > 1;
  if (bottom.rank() != 4) {
    throw spec.Mistake(
        "bottom", "Upsample takes a bottom of 4 axes (batch, channels, height, width); found " +
                      bottom.ToString());
  }
  if (masked && bottoms[1] != bottom) {
    throw spec.Mistake("bottom",
                       "the mask has the shape of bottom 0, " + bottom.ToString() + "; found " +
                           bottoms[1].ToString(),
                       1);
  }
  UpsampleForm form;
  form.planes = bottom[0] * bottom[1];
  form.height = bottom[2];
  form.width = bottom[3];
  auto pair = [&](const char* name, bool has_h, bool has_w) {
    if (has_h == has_w) return has_h;
    throw spec.Mistake(path + name + (has_h ? "_h" : "_w"),
                       std::string(name) + "_h and " + name + "_w are both needed");
  };
  const bool size = pair("upsample", p.has_upsample_h(), p.has_upsample_w());
  const bool factors = pair("scale", p.has_scale_h(), p.has_scale_w());
  if (size + factors + p.has_scale() > 1) {
    throw spec.Mistake(size ? path + "upsample_h" : path + "scale",
                       "give one of scale, scale_h and scale_w, upsample_h and upsample_w");
  }
  if (!masked && (size || p.pad_out_h() || p.pad_out_w())) {
    throw spec.Mistake(path + (size            ? "upsample_h"
                               : p.pad_out_h() ? "pad_out_h"
                                               : "pad_out_w"),
                       "it is for Upsample with a mask, the second top of a MAX Pooling, as its "
                       "second bottom");
  }
  if (size) {
    if (p.pad_out_h() || p.pad_out_w()) {
      throw spec.Mistake(path + (p.pad_out_h() ? "pad_out_h" : "pad_out_w"),
                         "it is for factors; upsample_h and upsample_w are the top's size");
    }
    form.top_height = p.upsample_h();
    form.top_width = p.upsample_w();
  } else {
    // SegNet's and the YOLO forks' defaults.
    const int64_t scale = p.has_scale() ? p.scale() : masked ? 2 : 1;
    form.scale_h = factors ? p.scale_h() : scale;
    form.scale_w = factors ? p.scale_w() : scale;
    if (form.scale_h < 1 || form.scale_w < 1) {
      throw spec.Mistake(path + (!factors           ? "scale"
                                 : form.scale_h < 1 ? "scale_h"
                                                    : "scale_w"),
                         "it must be positive, found 0");
    }
    form.top_height = form.height * form.scale_h - (p.pad_out_h() ? 1 : 0);
    form.top_width = form.width * form.scale_w - (p.pad_out_w() ? 1 : 0);
  }
  if (form.top_height < 1 || form.top_width < 1) {
    throw spec.Mistake(size ? path + "upsample_h" : "upsample_param",
                       "the top would be " + std::to_string(form.top_height) + "x" +
                           std::to_string(form.top_width));
  }
  if (form.planes * form.height * form.width > INT32_MAX) {
    throw spec.Mistake("bottom", "Upsample counts the elements of its bottom in 32 bits; found " +
                                     bottom.ToString());
  }
  return form;
}

inline UserError BadMask(const LayerSpec& spec, const UpsampleForm& form) {
  return spec.Mistake("bottom",
                      "the mask holds an index outside of the top's " +
                          std::to_string(form.top_height) + "x" + std::to_string(form.top_width) +
                          "; it is to come from a MAX Pooling whose bottom has that size",
                      1);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_
