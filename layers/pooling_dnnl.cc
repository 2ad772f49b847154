// Pooling by oneDNN, in the layout the bottom has.
#include "layers/pooling_geometry.h"
#include "layers/window_dnnl.h"

namespace doppio {
namespace {

using dnnl::memory;
using Choice = WindowChoice<dnnl::pooling_forward, dnnl::pooling_backward, false>;

Choice Make(const KernelArgs& args, const PoolingGeometry& g, const memory::desc& src) {
  // Without padding a window is cut only at its far end, where leaving the outside out is what
  // Caffe does.
  const bool whole_windows = g.count_padding && (g.h.pad > 0 || g.w.pad > 0);
  const dnnl::algorithm how = g.max           ? dnnl::algorithm::pooling_max
                              : whole_windows ? dnnl::algorithm::pooling_avg_include_padding
                                              : dnnl::algorithm::pooling_avg_exclude_padding;
  const memory::dims stride{g.h.stride, g.w.stride}, kernel{g.h.kernel, g.w.kernel};
  const memory::dims near{g.h.pad, g.w.pad};
  const memory::dims far{std::max<int64_t>(0, g.h.overhang()),
                         std::max<int64_t>(0, g.w.overhang())};
  const memory::desc dst =
      AnyDesc(Shape{args.bottoms[0].shape[0], args.bottoms[0].shape[1], g.h.output, g.w.output});
  const dnnl::prop_kind kind =
      args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  Choice choice;
  choice.forward = dnnl::pooling_forward::primitive_desc(
      {kind, how, src, dst, stride, kernel, near, far}, DnnlAttr(), DnnlEngine());
  if (args.backward) {
    choice.backward = dnnl::pooling_backward::primitive_desc(
        {how, src, choice.forward.dst_desc(), stride, kernel, near, far}, DnnlAttr(), DnnlEngine(),
        choice.forward);
  }
  return choice;
}

std::unique_ptr<Choice> Best(const KernelArgs& args, const PoolingGeometry& g) {
  return FastestLayout<Choice>(args, [&](const memory::desc& src) { return Make(args, g, src); });
}

std::string Declines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return "oneDNN trains in float32 only";
  const PoolingGeometry g = ReadPoolingGeometry(*args.spec, args.bottoms[0].shape);
  if (args.spec->param.top_size() > 1) return "oneDNN does not give the indices of the second top";
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  for (const PoolingAxis& a : {g.h, g.w}) {
    if (a.overhang() >= a.kernel) return "oneDNN wants every window to touch the input";
  }
  if (!g.max && g.count_padding && (g.h.pad > 0 || g.w.pad > 0)) {
    for (const PoolingAxis& a : {g.h, g.w}) {
      if (a.overhang() > a.pad) return "oneDNN does not cut averages at the end of the padding";
    }
  }
  if (Best(args, g) == nullptr) return "oneDNN has no implementation of this pooling";
  return "";
}

std::unique_ptr<Kernel> MakeKernel(const KernelArgs& args) {
  const PoolingGeometry g = ReadPoolingGeometry(*args.spec, args.bottoms[0].shape);
  const std::unique_ptr<Choice> choice = Best(args, g);
  DOPPIO_CHECK(choice != nullptr, "a pooling that was declined");
  return std::make_unique<WindowKernel<Choice>>(args, *choice);
}

DOPPIO_REGISTER_KERNEL({"Pooling", DeviceKind::kCpu, "onednn", 10, &MakeKernel, &Declines});

}  // namespace
}  // namespace doppio
