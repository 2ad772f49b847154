#include "layers/convolution/conv_geometry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/net/contract/layer_spec.h"
#include "core/tensor/tensor.h"
#include "layers/common/bottom_checks.h"

namespace doppio {
namespace {

using Extents = std::vector<int64_t>;

std::string ExtentsText(const Extents& v) { return Shape(v).ToString(); }

// A field of convolution_param with a value for each spatial axis.
struct SpatialField {
  std::string name;
  const google::protobuf::RepeatedField<uint32_t>& values;
  int64_t fallback, least;  // a negative fallback means that the field is required
  // The legacy fields for images, <pair>_h and <pair>_w.
  std::string pair;
  bool has_h = false, has_w = false;
  int64_t h = 0, w = 0;
};

// Returns the values of a field for `rank` spatial axes from the repeated field (no value: the
// fallback; one value: for all axes) or from the pair of legacy fields.
Extents UncheckedSpatialValues(const LayerSpec& spec, const SpatialField& field, size_t rank) {
  const std::string path = "convolution_param.", name = field.name, pair = field.pair;
  Extents values(field.values.begin(), field.values.end());
  if (field.has_h || field.has_w) {
    const std::string pair_path = path + pair + (field.has_h ? "_h" : "_w");
    spec.RefuseIf(rank != 2, pair_path, pair, "_h and ", pair,
                  "_w are for 2 spatial axes, the bottom has ", rank, "; use ", name);
    spec.RefuseIf(!values.empty(), path + name, "both ", name, " and ", pair, "_h/", pair,
                  "_w are given; keep one of them");
    spec.RefuseIf(field.fallback < 0 && !(field.has_h && field.has_w), pair_path, pair, "_h and ",
                  pair, "_w are both needed");
    return {field.has_h ? field.h : field.fallback, field.has_w ? field.w : field.fallback};
  }
  spec.RefuseIf(values.empty() && field.fallback < 0 && rank > 0, "convolution_param", name,
                " is missing; for example ", name, ": 3");
  if (values.size() <= 1) {
    return Extents(rank, values.empty() ? field.fallback : values[0]);
  }
  spec.RefuseIf(values.size() != rank, path + name, name, " is given ", values.size(),
                " times; expected once, or once for each of the ", rank, " spatial axes");
  return values;
}

// Returns the values like UncheckedSpatialValues. Throws spec.Mistake if a value is out of range.
Extents SpatialValues(const LayerSpec& spec, const SpatialField& field, size_t rank) {
  Extents values = UncheckedSpatialValues(spec, field, rank);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= field.least && values[i] <= INT32_MAX) continue;
    const bool paired = field.has_h || field.has_w;
    throw spec.Mistake(
        "convolution_param." + (paired ? field.pair + (i == 0 ? "_h" : "_w") : field.name),
        field.name + " must be " + (field.least > 0 ? "positive" : "a count") + ", found " +
            std::to_string(values[i]),
        static_cast<int>(field.values.size() > 1 ? i : 0));
  }
  return values;
}

// Returns the dilation. DeepLab's files call it `hole`.
Extents ReadDilation(const LayerSpec& spec, size_t rank) {
  const ConvolutionParameter& p = spec.param.convolution_param();
  const SpatialField hole{"hole",         p.hole(),       1,          1,         "hole",
                          p.has_hole_h(), p.has_hole_w(), p.hole_h(), p.hole_w()};
  if (p.dilation_size() == 0) return SpatialValues(spec, hole, rank);
  spec.RefuseIf(p.hole_size() > 0 || p.has_hole_h() || p.has_hole_w(), "convolution_param.dilation",
                "dilation and hole, its former name, are both given; keep dilation");
  return SpatialValues(spec, {"dilation", p.dilation(), 1, 1, "dilation"}, rank);
}

// Reads and checks the batch, channels, groups and bias of `g`.
void ReadChannels(const LayerSpec& spec, const Shape& bottom, ConvGeometry* g) {
  const ConvolutionParameter& p = spec.param.convolution_param();
  g->batch = bottom.count(0, g->axis);
  g->in_channels = bottom[g->axis];
  const bool depthwise = spec.type() == kConvolutionTypes[1] || spec.type() == kConvolutionTypes[2];
  g->out_channels = depthwise && !p.has_num_output() ? g->in_channels : p.num_output();
  g->group = depthwise && !p.has_group() ? g->in_channels : p.group();
  g->bias = p.bias_term();
  spec.RefuseIf(g->out_channels <= 0, "convolution_param.num_output",
                "num_output must be positive, found ", g->out_channels);
  spec.RefuseIf(g->group <= 0, "convolution_param.group", "group must be positive, found 0");
  spec.RefuseIf(depthwise && g->group != g->in_channels, "convolution_param.group", spec.type(),
                " has a group for each of the bottom's ", g->in_channels,
                " channels, found group: ", g->group, "; remove it, or use type: \"Convolution\"");
  spec.RefuseIf(g->in_channels % g->group != 0, "convolution_param.group", "the bottom's ",
                g->in_channels, " channels do not divide into group: ", g->group);
  spec.RefuseIf(g->out_channels % g->group != 0, "convolution_param.num_output", "num_output ",
                g->out_channels, " is not a multiple of group ", g->group);
}

// Returns the spatial extents of a Deconvolution's top. `kernel` holds the extents of the dilated
// kernel, here and below.
Extents TransposedOutput(const LayerSpec& spec, const ConvGeometry& g, const Extents& kernel) {
  Extents output;
  for (size_t i = 0; i < kernel.size(); ++i) {
    output.push_back(g.stride[i] * (g.input[i] - 1) + kernel[i] - 2 * g.pad[i]);
  }
  const bool empty =
      std::any_of(output.begin(), output.end(), [](int64_t extent) { return extent <= 0; });
  spec.RefuseIf(empty, "convolution_param.pad", "pad leaves a top of ", ExtentsText(output),
                "; use a smaller pad");
  return output;
}

// Returns the spatial extents of a Convolution's top. Throws spec.Mistake if the kernel is larger
// than the padded input.
Extents ConvolutionOutput(const LayerSpec& spec, const ConvGeometry& g, const Extents& kernel) {
  Extents padded, output;
  bool fits = true;
  for (size_t i = 0; i < kernel.size(); ++i) {
    padded.push_back(g.input[i] + 2 * g.pad[i]);
    output.push_back((padded[i] - kernel[i]) / g.stride[i] + 1);
    fits = fits && padded[i] >= kernel[i];
  }
  if (fits) return output;
  const bool equal = std::all_of(g.kernel.begin(), g.kernel.end(),
                                 [&](int64_t extent) { return extent == g.kernel[0]; });
  throw spec.Mistake(
      spec.param.convolution_param().has_kernel_h() ? "convolution_param.kernel_h"
                                                    : "convolution_param.kernel_size",
      "kernel_size " + (equal ? std::to_string(g.kernel[0]) : ExtentsText(g.kernel)) +
          (kernel != g.kernel ? ", dilated to " + ExtentsText(kernel) + "," : "") +
          " is larger than the padded input " + ExtentsText(padded) +
          "; set a pad or a smaller kernel");
}

}  // namespace

ConvGeometry ReadConvGeometry(const LayerSpec& spec, const Shape& bottom) {
  const ConvolutionParameter& p = spec.param.convolution_param();
  ConvGeometry g;
  g.axis = AxisOf(spec, "convolution_param.axis", p.axis(), bottom);
  g.input.assign(bottom.dims().begin() + g.axis + 1, bottom.dims().end());
  const auto values = [&](const SpatialField& field) {
    return SpatialValues(spec, field, g.input.size());
  };
  g.kernel = values({"kernel_size", p.kernel_size(), -1, 1, "kernel", p.has_kernel_h(),
                     p.has_kernel_w(), p.kernel_h(), p.kernel_w()});
  g.stride = values({"stride", p.stride(), 1, 1, "stride", p.has_stride_h(), p.has_stride_w(),
                     p.stride_h(), p.stride_w()});
  g.pad = values({"pad", p.pad(), 0, 0, "pad", p.has_pad_h(), p.has_pad_w(), p.pad_h(), p.pad_w()});
  g.dilation = ReadDilation(spec, g.input.size());
  ReadChannels(spec, bottom, &g);
  Extents kernel;  // extents of the dilated kernel
  for (size_t i = 0; i < g.kernel.size(); ++i) {
    kernel.push_back(g.dilation[i] * (g.kernel[i] - 1) + 1);
  }
  g.transposed = spec.type() == "Deconvolution";
  if (!g.transposed) {
    g.output = ConvolutionOutput(spec, g, kernel);
    return g;
  }
  g.output = std::exchange(g.input, TransposedOutput(spec, g, kernel));
  std::swap(g.in_channels, g.out_channels);
  return g;
}

}  // namespace doppio
