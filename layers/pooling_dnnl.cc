// Pooling by oneDNN, in the layout the bottom has.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/net/layer.h"
#include "layers/dnnl_support.h"
#include "layers/pooling_geometry.h"

namespace doppio {
namespace {

using dnnl::memory;

struct Choice {
  dnnl::pooling_forward::primitive_desc forward;
  dnnl::pooling_backward::primitive_desc backward;
  double slowness = 0;
};

std::unique_ptr<Choice> Try(const KernelArgs& args, const PoolingGeometry& g,
                            const memory::desc& src) {
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
  auto choice = std::make_unique<Choice>();
  try {
    choice->forward = dnnl::pooling_forward::primitive_desc(
        {kind, how, src, dst, stride, kernel, near, far}, DnnlAttr(), DnnlEngine());
    choice->slowness = Slowness(choice->forward.impl_info_str());
    if (src != DescOf(args.bottoms[0])) choice->slowness += kReorderSlowness;
    if (args.backward) {
      choice->backward = dnnl::pooling_backward::primitive_desc(
          {how, src, choice->forward.dst_desc(), stride, kernel, near, far}, DnnlAttr(),
          DnnlEngine(), choice->forward);
      choice->slowness += Slowness(choice->backward.impl_info_str());
    }
  } catch (const dnnl::error&) {
    return nullptr;
  }
  return choice;
}

// The fastest of the layouts that make sense; null when there is none.
std::unique_ptr<Choice> Best(const KernelArgs& args, const PoolingGeometry& g) {
  const Shape& shape = args.bottoms[0].shape;
  std::unique_ptr<Choice> best;
  for (const memory::desc& src : {DescOf(args.bottoms[0]), ChannelBlocked(shape, 16),
                                  ChannelBlocked(shape, 8), PlainDesc(shape)}) {
    if (best != nullptr && best->slowness == 0) break;
    std::unique_ptr<Choice> choice = Try(args, g, src);
    if (choice != nullptr && (best == nullptr || choice->slowness < best->slowness))
      best = std::move(choice);
  }
  return best;
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

class DnnlPooling : public Kernel {
 public:
  explicit DnnlPooling(const KernelArgs& args) {
    const PoolingGeometry g = ReadPoolingGeometry(*args.spec, args.bottoms[0].shape);
    const std::unique_ptr<Choice> choice = Best(args, g);
    DOPPIO_CHECK(choice != nullptr, "a pooling that was declined");
    forward_ = dnnl::pooling_forward(choice->forward);
    src_ = choice->forward.src_desc();
    dst_ = choice->forward.dst_desc();
    needs_.bottoms = {LayoutOf(src_)};
    needs_.tops = {LayoutOf(dst_)};
    forward_scratch_ = choice->forward.scratchpad_desc();
    needs_.scratch_bytes = static_cast<int64_t>(forward_scratch_.get_size());
    if (!args.backward) return;
    backward_ = dnnl::pooling_backward(choice->backward);
    workspace_ = choice->forward.workspace_desc();
    needs_.saved_bytes = static_cast<int64_t>(workspace_.get_size());
    backward_scratch_ = choice->backward.scratchpad_desc();
    needs_.scratch_bytes =
        std::max(needs_.scratch_bytes, static_cast<int64_t>(backward_scratch_.get_size()));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    forward_args_ = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[0].raw)},
                     {DNNL_ARG_DST, MemoryAt(dst_, t_.tops[0].raw)},
                     {DNNL_ARG_SCRATCHPAD, MemoryAt(forward_scratch_, t_.scratch)}};
    if (!backward_) return;
    backward_args_ = {{DNNL_ARG_DIFF_SRC, MemoryAt(src_, t_.bottom_grads[0].raw)},
                      {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[0].raw)},
                      {DNNL_ARG_SCRATCHPAD, MemoryAt(backward_scratch_, t_.scratch)}};
    if (needs_.saved_bytes > 0) {
      forward_args_.emplace(DNNL_ARG_WORKSPACE, MemoryAt(workspace_, t_.saved));
      backward_args_.emplace(DNNL_ARG_WORKSPACE, MemoryAt(workspace_, t_.saved));
    }
  }

  void Forward(const Pass&) override { Execute(forward_, forward_args_); }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (t_.bottom_grads[0]) Execute(backward_, backward_args_);
  }

 private:
  dnnl::primitive forward_, backward_;
  memory::desc src_, dst_, workspace_, forward_scratch_, backward_scratch_;
  DnnlArgs forward_args_, backward_args_;
};

DOPPIO_REGISTER_KERNEL({"Pooling", DeviceKind::kCpu, "onednn", 10,
                        [](const KernelArgs& args) -> std::unique_ptr<Kernel> {
                          return std::make_unique<DnnlPooling>(args);
                        },
                        &Declines});

}  // namespace
}  // namespace doppio
