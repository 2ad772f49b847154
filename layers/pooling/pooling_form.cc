#include "layers/pooling/pooling_form.h"

#include <string>

#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"

namespace doppio {
namespace {

// A field for both axes, or the fields for one axis each that replace it.
struct PoolingField {
  const char* name;
  bool has_both;
  int64_t both;
  bool has_h, has_w;
  int64_t one;  // the value for the axis that is read

  // Returns the value. Throws spec.Mistake if both kinds of fields are given.
  int64_t Value(const LayerSpec& spec) const {
    if (has_both && (has_h || has_w)) {
      const std::string field = name;
      throw spec.Mistake("pooling_param." + field, "both " + field + " and " +
                                                       (field == "kernel_size" ? "kernel" : field) +
                                                       "_h/_w are given; keep one of them");
    }
    return has_h || has_w ? one : both;
  }
};

// Throws spec.Mistake if global_pooling is combined with a kernel size, padding or a stride.
void CheckGlobalPooling(const LayerSpec& spec, const PoolingAxis& a) {
  const PoolingParameter& p = spec.param.pooling_param();
  const std::string path = "pooling_param.";
  const bool has_pair = p.has_kernel_h() || p.has_kernel_w();
  spec.RefuseIf(p.has_kernel_size() || has_pair,
                path + (p.has_kernel_size() ? "kernel_size" : "kernel_h"),
                "global_pooling takes the whole image; remove the kernel size");
  spec.RefuseIf(a.pad != 0 || a.stride != 1, path + (a.pad != 0 ? "pad" : "stride"),
                "global_pooling needs pad 0 and stride 1; remove them");
}

// Returns the extent of the windows along axis `name`, 'h' or 'w'. Throws spec.Mistake if the
// fields of that axis are wrong.
int64_t ReadPoolingKernel(const LayerSpec& spec, char name, const PoolingAxis& a) {
  const PoolingParameter& p = spec.param.pooling_param();
  const std::string path = "pooling_param.";
  const bool has_pair = p.has_kernel_h() || p.has_kernel_w(), is_h = name == 'h';
  spec.RefuseIf(!p.has_kernel_size() && !has_pair, "pooling_param",
                "kernel_size is missing; give it, or global_pooling: true");
  spec.RefuseIf(has_pair && !(p.has_kernel_h() && p.has_kernel_w()) && !p.has_kernel_size(),
                path + (p.has_kernel_h() ? "kernel_h" : "kernel_w"),
                "kernel_h and kernel_w are both needed");
  const int64_t kernel =
      PoolingField{"kernel_size",    p.has_kernel_size(), p.kernel_size(),
                   p.has_kernel_h(), p.has_kernel_w(),    is_h ? p.kernel_h() : p.kernel_w()}
          .Value(spec);
  spec.RefuseIf(kernel == 0, path + (has_pair ? std::string("kernel_") + name : "kernel_size"),
                "the kernel must be positive, found 0");
  spec.RefuseIf(a.stride == 0, path + (p.has_stride() ? "stride" : std::string("stride_") + name),
                "stride must be positive, found 0");
  spec.RefuseIf(a.pad >= kernel, path + (p.has_pad() ? "pad" : std::string("pad_") + name), "pad ",
                a.pad, " must be smaller than the kernel, ", kernel);
  return kernel;
}

// Returns an axis without its number of windows.
PoolingAxis ReadPoolingAxis(const LayerSpec& spec, char name, int64_t input) {
  const PoolingParameter& p = spec.param.pooling_param();
  const bool is_h = name == 'h';
  PoolingAxis a;
  a.input = input;
  a.stride = PoolingField{"stride",
                          p.has_stride(),
                          p.stride(),
                          p.has_stride_h(),
                          p.has_stride_w(),
                          is_h ? (p.has_stride_h() ? p.stride_h() : 1)
                               : (p.has_stride_w() ? p.stride_w() : 1)}
                 .Value(spec);
  a.pad = PoolingField{"pad",         p.has_pad(),   p.pad(),
                       p.has_pad_h(), p.has_pad_w(), is_h ? p.pad_h() : p.pad_w()}
              .Value(spec);
  if (p.global_pooling()) {
    CheckGlobalPooling(spec, a);
    a.kernel = input;
  } else {
    a.kernel = ReadPoolingKernel(spec, name, a);
  }
  return a;
}

// Sets the number of windows along axis `name`. `padded` is true if either axis has padding.
void SetPoolingOutput(const LayerSpec& spec, char name, bool padded, PoolingAxis* a) {
  const PoolingParameter& p = spec.param.pooling_param();
  const bool floor =
      p.round_mode() == PoolingParameter::FLOOR || p.torch_pooling() || !p.ceil_mode();
  a->output = CountWindows(*a, floor, padded);
  const std::string kernel = std::to_string(a->kernel), extent = std::to_string(a->input);
  if (a->output <= 0) {
    throw spec.Mistake("pooling_param",
                       StrCat("kernel ", kernel, " is too large for an input of ", extent,
                              " with pad ", a->pad, "; use a smaller one"));
  }
  spec.RefuseIf((a->output - 1) * a->stride - a->pad >= a->input, "pooling_param",
                "the last window would lie wholly outside the input (", std::string(1, name),
                ": size ", extent, ", kernel ", kernel, ", stride ", a->stride,
                ", rounded up); set round_mode: FLOOR");
}

PoolingGeometry ReadPoolingGeometry(const LayerSpec& spec, const Shape& bottom) {
  const PoolingParameter& p = spec.param.pooling_param();
  CheckImages(spec, bottom);
  spec.RefuseIf(p.axis() != 1 || p.pad_3d_size() + p.kernel_size_3d_size() + p.stride_3d_size() > 0,
                "pooling_param", "pooling over other than the last two of 4 axes is not available");
  PoolingGeometry g;
  g.max = p.pool() == PoolingParameter::MAX;
  g.count_padding = p.avg_include_pad();
  g.planes = bottom[0] * bottom[1];
  g.h = ReadPoolingAxis(spec, 'h', bottom[2]);
  g.w = ReadPoolingAxis(spec, 'w', bottom[3]);
  const bool padded = g.h.pad > 0 || g.w.pad > 0;
  SetPoolingOutput(spec, 'h', padded, &g.h);
  SetPoolingOutput(spec, 'w', padded, &g.w);
  spec.RefuseIf(p.pool() == PoolingParameter::STOCHASTIC && (g.h.pad != 0 || g.w.pad != 0),
                p.has_pad()    ? "pooling_param.pad"
                : g.h.pad != 0 ? "pooling_param.pad_h"
                               : "pooling_param.pad_w",
                "STOCHASTIC pooling has no padding; remove it, or use MAX or AVE");
  return g;
}

}  // namespace

PoolingForm ReadPooling(const LayerSpec& spec, const Shape& bottom) {
  PoolingForm form;
  form.g = ReadPoolingGeometry(spec, bottom);
  if (spec.param.pooling_param().pool() == PoolingParameter::STOCHASTIC) {
    PlainPooling& pooling = form.stochastic.emplace();
    pooling.by = PoolByMethod(false, false, spec.phase() == TRAIN);
    pooling.g = form.g;
    pooling.channels = bottom[1];
    pooling.top_sample = bottom[1] * form.g.h.output * form.g.w.output;
    pooling.random = Random(spec.options.seed, Stream("pooling", spec.name()));
  }
  return form;
}

}  // namespace doppio
