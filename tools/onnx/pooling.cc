// The layer Pooling. ONNX's ceil_mode is not used, because runtimes disagree about its last window.
// Instead, the input is padded by the part of the last window that exceeds it, so that rounding
// down gives Caffe's windows.
#include "layers/pooling/pooling_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

struct Padding {
  int64_t h = 0, w = 0;
};

// Returns how far the last windows extend beyond the input and its `padding`.
Padding Beyond(const PoolingGeometry& g, const Padding& padding) {
  return {std::max<int64_t>(0, g.h.overhang() - padding.h),
          std::max<int64_t>(0, g.w.overhang() - padding.w)};
}

std::string AddWindows(const OnnxLayer& layer, const PoolingGeometry& g, const std::string& value,
                       const Padding& before, const Padding& behind, bool count_padding) {
  OnnxAttributes attributes = {
      {"kernel_shape", std::vector<int64_t>{g.h.kernel, g.w.kernel}},
      {"strides", std::vector<int64_t>{g.h.stride, g.w.stride}},
      {"pads", std::vector<int64_t>{before.h, before.w, behind.h, behind.w}}};
  if (!g.max) attributes.push_back({"count_include_pad", int64_t{count_padding}});
  return layer.Add(g.max ? "MaxPool" : "AveragePool", {value}, attributes);
}

std::string AddZeros(const OnnxLayer& layer, const Padding& around) {
  const std::string pads = layer.Integers({0, 0, around.h, around.w, 0, 0, around.h, around.w});
  return layer.Add("Pad", {layer.in(), pads});
}

void AddPooling(const OnnxLayer& layer) {
  const LayerSpec& spec = layer.spec();
  const PoolingGeometry& g = layer.Form<PoolingForm>().g;
  spec.RefuseIf(spec.param.pooling_param().pool() == PoolingParameter::STOCHASTIC,
                "pooling_param.pool", "STOCHASTIC pooling has no form in ONNX");
  spec.RefuseIf(layer.tops() > 1, {"top", 1},
                "the second top, indices within a plane, has no form in ONNX, whose indices count "
                "through the whole batch");
  if (spec.param.pooling_param().global_pooling()) {
    layer.SetTop(layer.Add(g.max ? "GlobalMaxPool" : "GlobalAveragePool", {layer.in()}));
    return;
  }
  const Padding pad{g.h.pad, g.w.pad};
  if (g.max || !g.count_padding) {
    layer.SetTop(AddWindows(layer, g, layer.in(), pad, Beyond(g, {}), false));
    return;
  }
  // A mean counts the padding from the file but nothing beyond it. ONNX counts either all padding
  // of a node or none, so the file's padding may need a Pad node.
  const Padding beyond = Beyond(g, pad);
  const bool even = beyond.h == 0 && beyond.w == 0;
  layer.SetTop(even ? AddWindows(layer, g, layer.in(), pad, pad, true)
               : pad.h == 0 && pad.w == 0
                   ? AddWindows(layer, g, layer.in(), pad, beyond, false)
                   : AddWindows(layer, g, AddZeros(layer, pad), {}, beyond, false));
}

DOPPIO_REGISTER(
    OnnxMappings, "Pooling",
    {"MaxPool, Pad, AveragePool, GlobalMaxPool, GlobalAveragePool; not STOCHASTIC, no second top",
     &AddPooling});

}  // namespace
}  // namespace doppio
