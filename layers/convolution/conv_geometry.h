// The geometry of Convolution and Deconvolution: what convolution_param says about a bottom of some
// shape, checked, with Caffe's legacy fields and defaults resolved. Pure arithmetic, no kernel.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CONV_GEOMETRY_H_
#define DOPPIO_LAYERS_CONVOLUTION_CONV_GEOMETRY_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/net/graph/layer.h"

namespace doppio {

struct ConvGeometry {
  int axis = 1;  // of the channels; the axes before it are the batch
  int64_t batch = 0, group = 1;
  int64_t in_channels = 0, out_channels = 0;  // of bottom and top
  bool bias = true;
  std::vector<int64_t> kernel, stride, pad, dilation;  // one per spatial axis
  std::vector<int64_t> input, output;                  // spatial extents of bottom and top

  int spatial_rank() const { return static_cast<int>(kernel.size()); }
  int64_t kernel_count() const { return Product(kernel); }
  int64_t input_count() const { return Product(input); }
  int64_t output_count() const { return Product(output); }

  static int64_t Product(const std::vector<int64_t>& v) {
    int64_t n = 1;
    for (int64_t x : v) n *= x;
    return n;
  }
};

// Caffe's name, and those of forks' layers in which every channel is a group of its own: the same
// products, by the same kernels.
inline constexpr const char* kConvolutionTypes[] = {"Convolution", "ConvolutionDepthwise",
                                                    "DepthwiseConvolution"};
inline bool IsDepthwise(const LayerSpec& spec) {
  return spec.type() == kConvolutionTypes[1] || spec.type() == kConvolutionTypes[2];
}
inline bool IsTransposed(const LayerSpec& spec) { return spec.type() == "Deconvolution"; }

namespace internal {

inline std::string Extents(const std::vector<int64_t>& v) { return Shape(v).ToString(); }

// One value for each of `rank` spatial axes from a repeated field (none: `fallback`; one: for all
// axes) or, for images, from the pair of legacy fields.
inline std::vector<int64_t> SpatialValues(const LayerSpec& spec, const std::string& field, int rank,
                                          const google::protobuf::RepeatedField<uint32_t>& repeated,
                                          const std::string& pair, bool has_h, bool has_w,
                                          int64_t h, int64_t w, int64_t fallback, int64_t least) {
  const std::string path = "convolution_param.";
  const std::string pair_path = path + pair + (has_h ? "_h" : "_w");
  std::vector<int64_t> values(repeated.begin(), repeated.end());
  if (has_h || has_w) {
    if (rank != 2) {
      throw spec.Mistake(pair_path, pair + "_h and " + pair +
                                        "_w are for 2 spatial axes, the bottom has " +
                                        std::to_string(rank) + "; use " + field);
    }
    if (!values.empty()) {
      throw spec.Mistake(path + field, "both " + field + " and " + pair + "_h/" + pair +
                                           "_w are given; keep one of them");
    }
    if (fallback < 0 && !(has_h && has_w)) {
      throw spec.Mistake(pair_path, pair + "_h and " + pair + "_w are both needed");
    }
    values = {has_h ? h : fallback, has_w ? w : fallback};
  } else if (values.empty()) {
    if (fallback < 0 && rank > 0) {
      throw spec.Mistake("convolution_param", field + " is missing; for example " + field + ": 3");
    }
    values.assign(static_cast<size_t>(rank), fallback);
  } else if (values.size() == 1) {
    values.assign(static_cast<size_t>(rank), values[0]);
  } else if (static_cast<int>(values.size()) != rank) {
    throw spec.Mistake(path + field, field + " is given " + std::to_string(values.size()) +
                                         " times; expected once, or once for each of the " +
                                         std::to_string(rank) + " spatial axes");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= least && values[i] <= INT32_MAX) continue;
    const std::string where = has_h || has_w ? path + pair + (i == 0 ? "_h" : "_w") : path + field;
    throw spec.Mistake(where,
                       field + " must be " + (least > 0 ? "positive" : "a count") + ", found " +
                           std::to_string(values[i]),
                       static_cast<int>(repeated.size() > 1 ? i : 0));
  }
  return values;
}

}  // namespace internal

// Reads the geometry, or throws a UserError. `transposed`: Deconvolution, where the top is the
// larger side.
inline ConvGeometry ReadConvGeometry(const LayerSpec& spec, const Shape& bottom, bool transposed) {
  const ConvolutionParameter& p = spec.param.convolution_param();
  ConvGeometry g;
  if (!bottom.has_axis(p.axis())) {
    throw spec.Mistake("convolution_param.axis", "axis " + std::to_string(p.axis()) +
                                                     " does not exist in the bottom of shape " +
                                                     bottom.ToString());
  }
  g.axis = bottom.canonical_axis(p.axis());
  const int rank = bottom.rank() - g.axis - 1;
  g.kernel = internal::SpatialValues(spec, "kernel_size", rank, p.kernel_size(), "kernel",
                                     p.has_kernel_h(), p.has_kernel_w(), p.kernel_h(), p.kernel_w(),
                                     -1, 1);
  g.stride = internal::SpatialValues(spec, "stride", rank, p.stride(), "stride", p.has_stride_h(),
                                     p.has_stride_w(), p.stride_h(), p.stride_w(), 1, 1);
  g.pad = internal::SpatialValues(spec, "pad", rank, p.pad(), "pad", p.has_pad_h(), p.has_pad_w(),
                                  p.pad_h(), p.pad_w(), 0, 0);
  g.dilation = internal::SpatialValues(spec, "dilation", rank, p.dilation(), "dilation", false,
                                       false, 0, 0, 1, 1);
  g.batch = bottom.count(0, g.axis);
  g.in_channels = bottom[g.axis];
  const bool depthwise = IsDepthwise(spec);
  g.out_channels = depthwise && !p.has_num_output() ? g.in_channels : p.num_output();
  g.group = depthwise && !p.has_group() ? g.in_channels : p.group();
  g.bias = p.bias_term();
  if (g.out_channels <= 0) {
    throw spec.Mistake("convolution_param.num_output",
                       "num_output must be positive, found " + std::to_string(g.out_channels));
  }
  if (g.group <= 0)
    throw spec.Mistake("convolution_param.group", "group must be positive, found 0");
  if (depthwise && g.group != g.in_channels) {
    throw spec.Mistake("convolution_param.group",
                       spec.type() + " has a group for each of the bottom's " +
                           std::to_string(g.in_channels) + " channels, found group: " +
                           std::to_string(g.group) + "; remove it, or use type: \"Convolution\"");
  }
  if (g.in_channels % g.group != 0) {
    throw spec.Mistake("convolution_param.group",
                       "the bottom's " + std::to_string(g.in_channels) +
                           " channels do not divide into group: " + std::to_string(g.group));
  }
  if (g.out_channels % g.group != 0) {
    throw spec.Mistake("convolution_param.num_output",
                       "num_output " + std::to_string(g.out_channels) +
                           " is not a multiple of group " + std::to_string(g.group));
  }
  g.input.assign(bottom.dims().begin() + g.axis + 1, bottom.dims().end());
  std::vector<int64_t> extent, padded;
  for (int i = 0; i < rank; ++i) {
    extent.push_back(g.dilation[i] * (g.kernel[i] - 1) + 1);
    padded.push_back(g.input[i] + 2 * g.pad[i]);
    g.output.push_back(transposed ? g.stride[i] * (g.input[i] - 1) + extent[i] - 2 * g.pad[i]
                                  : (padded[i] - extent[i]) / g.stride[i] + 1);
  }
  for (int i = 0; i < rank; ++i) {
    if (transposed ? g.output[i] > 0 : padded[i] >= extent[i]) continue;
    const std::string path =
        p.has_kernel_h() ? "convolution_param.kernel_h" : "convolution_param.kernel_size";
    if (transposed) {
      throw spec.Mistake(
          "convolution_param.pad",
          "pad leaves a top of " + internal::Extents(g.output) + "; use a smaller pad");
    }
    const bool dilated = extent != g.kernel;
    const std::string kernel = rank == 1 || std::all_of(g.kernel.begin(), g.kernel.end(),
                                                        [&](int64_t k) { return k == g.kernel[0]; })
                                   ? std::to_string(g.kernel[0])
                                   : internal::Extents(g.kernel);
    throw spec.Mistake(path,
                       "kernel_size " + kernel +
                           (dilated ? ", dilated to " + internal::Extents(extent) + "," : "") +
                           " is larger than the padded input " + internal::Extents(padded) +
                           "; set a pad or a smaller kernel");
  }
  return g;
}

// The convolution that a layer's products are those of: its own, or that from top to bottom whose
// gradient a Deconvolution computes. Either way `out_channels` are the first axis of the weights,
// and `input` is the side that windows slide over.
inline ConvGeometry ReadConvolution(const LayerSpec& spec, const Shape& bottom) {
  ConvGeometry g = ReadConvGeometry(spec, bottom, IsTransposed(spec));
  if (!IsTransposed(spec)) return g;
  std::swap(g.in_channels, g.out_channels);
  std::swap(g.input, g.output);
  return g;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CONV_GEOMETRY_H_
