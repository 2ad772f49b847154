// Interp (DeepLab, PSPNet) resizes images bilinearly with aligned corners, either to a given size
// or by a factor.
#include "core/net/graph/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/host_loops.h"
#include "layers/shape/interp_kernel.h"

namespace doppio {
namespace {

InterpForm ReadInterp(const LayerSpec& spec, const Shape& bottom) {
  const InterpParameter& p = spec.param.interp_param();
  const std::string path = "interp_param.";
  CheckImages(spec, bottom);
  const bool factor = p.has_zoom_factor() || p.has_shrink_factor();
  if (p.has_height() != p.has_width()) {
    throw spec.Mistake(path + (p.has_height() ? "height" : "width"),
                       "height and width are both needed");
  }
  if (factor == p.has_height()) {
    throw spec.Mistake(factor ? path + "height" : "interp_param",
                       "give height and width, or zoom_factor or shrink_factor" +
                           std::string(factor ? ", not both" : ""));
  }
  auto positive = [&](const char* field, int64_t value) {
    if (value > 0) return;
    throw spec.Mistake(path + field,
                       std::string(field) + " must be positive, found " + std::to_string(value));
  };
  positive("zoom_factor", p.zoom_factor());
  positive("shrink_factor", p.shrink_factor());
  if (p.has_height()) positive("height", p.height());
  if (p.has_width()) positive("width", p.width());
  for (const bool begin : {true, false}) {
    if ((begin ? p.pad_beg() : p.pad_end()) <= 0) continue;
    throw spec.Mistake(path + (begin ? "pad_beg" : "pad_end"),
                       "the pads of Interp remove pixels, so they must be 0 or negative");
  }
  auto axis = [&](int64_t input, int64_t wanted) {
    const int64_t extent = input + p.pad_beg() + p.pad_end();
    if (extent <= 0) {
      throw spec.Mistake(
          path + (p.pad_beg() < 0 ? "pad_beg" : "pad_end"),
          "pad_beg and pad_end remove all pixels of an axis of " + std::to_string(input));
    }
    const int64_t shrunk = (extent - 1) / p.shrink_factor() + 1;
    const int64_t output = factor ? (shrunk - 1) * p.zoom_factor() + 1 : wanted;
    if (output > INT32_MAX / extent) {
      throw spec.Mistake("interp_param", "an axis of " + std::to_string(input) + " would become " +
                                             std::to_string(output) + ", which is too large");
    }
    return ResizedAxis(input, -static_cast<int64_t>(p.pad_beg()), extent, output);
  };
  return {bottom[0] * bottom[1], axis(bottom[2], p.height()), axis(bottom[3], p.width())};
}

LayerShape InferInterp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InterpForm form = ReadInterp(spec, bottoms[0]);
  LayerShape shape;
  shape.form = form;
  shape.tops = {{bottoms[0][0], bottoms[0][1], form.h.output, form.w.output}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (shape.tops[0] == bottoms[0] && form.h.extent == form.h.input &&
      form.w.extent == form.w.input) {
    shape.view = View::kSame;
  }
  return shape;
}

template <class T>
using Interp = InterpKernel<T, HostLoops>;

DOPPIO_REGISTER_LAYER("Interp", LayerType(&InferInterp).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Interp>("Interp"));

}  // namespace
}  // namespace doppio
