// Interp (DeepLab, PSPNet) resizes images bilinearly with aligned corners, either to a given size
// or by a factor, or to the size of a second bottom.
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/host_loops.h"
#include "layers/shape/interp_kernel.h"

namespace doppio {
namespace {

// Throws UserError unless `use_blob_size` and a second bottom come together, without another size.
void CheckInterpSize(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InterpParameter& p = spec.param.interp_param();
  spec.RefuseIf(bottoms.size() == 2 && !p.use_blob_size(), {"bottom", 1},
                "Interp reads a second bottom only with interp_param { use_blob_size: true }, "
                "which takes its size");
  if (!p.use_blob_size()) return;
  spec.RefuseIf(bottoms.size() == 1, "interp_param.use_blob_size",
                "use_blob_size takes the size of a second bottom, but there is none");
  spec.RefuseIf(p.has_height() || p.has_width() || p.has_zoom_factor() || p.has_shrink_factor(),
                "interp_param.use_blob_size",
                "use_blob_size takes the size of the second bottom; remove height, width, "
                "zoom_factor and shrink_factor");
  spec.RefuseIf(bottoms[1].rank() != 4, {"bottom", 1},
                "use_blob_size needs a bottom with 4 axes, found ", bottoms[1].ToString());
}

InterpForm ReadInterp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const InterpParameter& p = spec.param.interp_param();
  const std::string path = "interp_param.";
  CheckImages(spec, bottom);
  CheckInterpSize(spec, bottoms);
  const bool factor = p.has_zoom_factor() || p.has_shrink_factor();
  spec.RefuseIf(p.has_height() != p.has_width(), path + (p.has_height() ? "height" : "width"),
                "height and width are both needed");
  spec.RefuseIf(
      !p.use_blob_size() && factor == p.has_height(), factor ? path + "height" : "interp_param",
      "give height and width, or zoom_factor or shrink_factor", factor ? ", not both" : "");
  auto positive = [&](const char* field, int64_t value) {
    spec.RefuseIf(!(value > 0), path + field, field, " must be positive, found ", value);
  };
  positive("zoom_factor", p.zoom_factor());
  positive("shrink_factor", p.shrink_factor());
  if (p.has_height()) positive("height", p.height());
  if (p.has_width()) positive("width", p.width());
  for (const bool begin : {true, false}) {
    spec.RefuseIf(!((begin ? p.pad_beg() : p.pad_end()) <= 0),
                  path + (begin ? "pad_beg" : "pad_end"),
                  "the pads of Interp remove pixels, so they must be 0 or negative");
  }
  auto axis = [&](int64_t input, int64_t wanted) {
    const int64_t extent = input + p.pad_beg() + p.pad_end();
    spec.RefuseIf(extent <= 0, path + (p.pad_beg() < 0 ? "pad_beg" : "pad_end"),
                  "pad_beg and pad_end remove all pixels of an axis of ", input);
    const int64_t shrunk = (extent - 1) / p.shrink_factor() + 1;
    const int64_t output = factor ? (shrunk - 1) * p.zoom_factor() + 1 : wanted;
    spec.RefuseIf(output > INT32_MAX / extent, "interp_param", "an axis of ", input,
                  " would become ", output, ", which is too large");
    return ResizedAxis(input, -static_cast<int64_t>(p.pad_beg()), extent, output);
  };
  const int64_t height = p.use_blob_size() ? bottoms[1][2] : p.height();
  const int64_t width = p.use_blob_size() ? bottoms[1][3] : p.width();
  return {bottom[0] * bottom[1], axis(bottom[2], height), axis(bottom[3], width)};
}

LayerShape InferInterp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InterpForm form = ReadInterp(spec, bottoms);
  LayerShape shape;
  shape.form = form;
  shape.tops = {{bottoms[0][0], bottoms[0][1], form.h.output, form.w.output}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (bottoms.size() == 2) {
    shape.no_gradient_bottoms = {false, true};
    shape.no_gradient_bottoms_may_learn = true;
  }
  if (bottoms.size() == 1 && shape.tops[0] == bottoms[0] && form.h.extent == form.h.input &&
      form.w.extent == form.w.input) {
    shape.view = View::kSame;
  }
  return shape;
}

template <class T>
using Interp = InterpKernel<T, HostLoops>;

DOPPIO_REGISTER_LAYER("Interp", LayerType(&InferInterp).Bottoms(1, 2).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Interp>("Interp"));

}  // namespace
}  // namespace doppio
