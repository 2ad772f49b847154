// Local response normalisation by oneDNN, where it has more than plain loops: beta 0.75, sizes its
// code generator knows, channels in blocks.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/net/layer.h"
#include "layers/dnnl_support.h"

namespace doppio {
namespace {

using dnnl::memory;

struct Choice {
  dnnl::lrn_forward::primitive_desc forward;
  dnnl::lrn_backward::primitive_desc backward;
  double slowness = 0;
};

std::unique_ptr<Choice> Try(const KernelArgs& args, const memory::desc& data) {
  const LRNParameter& p = args.spec->param.lrn_param();
  const bool within = p.norm_region() == LRNParameter::WITHIN_CHANNEL;
  const dnnl::algorithm how =
      within ? dnnl::algorithm::lrn_within_channel : dnnl::algorithm::lrn_across_channels;
  const float k = within ? 1.0f : p.k();
  const dnnl::prop_kind kind =
      args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  auto choice = std::make_unique<Choice>();
  try {
    choice->forward = dnnl::lrn_forward::primitive_desc(
        {kind, how, data, p.local_size(), p.alpha(), p.beta(), k}, DnnlAttr(), DnnlEngine());
    choice->slowness = Slowness(choice->forward.impl_info_str());
    if (data != DescOf(args.bottoms[0])) choice->slowness += kReorderSlowness;
    if (args.backward) {
      choice->backward = dnnl::lrn_backward::primitive_desc(
          {how, data, data, p.local_size(), p.alpha(), p.beta(), k}, DnnlAttr(), DnnlEngine(),
          choice->forward);
      choice->slowness += Slowness(choice->backward.impl_info_str());
    }
  } catch (const dnnl::error&) {
    return nullptr;
  }
  return choice;
}

std::unique_ptr<Choice> Best(const KernelArgs& args) {
  const Shape& shape = args.bottoms[0].shape;
  std::unique_ptr<Choice> best;
  for (const memory::desc& data : {DescOf(args.bottoms[0]), ChannelBlocked(shape, 16),
                                   ChannelBlocked(shape, 8), PlainDesc(shape)}) {
    std::unique_ptr<Choice> choice = Try(args, data);
    if (choice != nullptr && (best == nullptr || choice->slowness < best->slowness))
      best = std::move(choice);
  }
  return best;
}

std::string Declines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return "oneDNN trains in float32 only";
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  const std::unique_ptr<Choice> best = Best(args);
  if (best == nullptr || best->slowness >= 100)
    return "oneDNN has no fast kernel for this size, beta or channels";
  return "";
}

class DnnlLrn : public Kernel {
 public:
  explicit DnnlLrn(const KernelArgs& args) {
    const std::unique_ptr<Choice> choice = Best(args);
    DOPPIO_CHECK(choice != nullptr, "an LRN that was declined");
    forward_ = dnnl::lrn_forward(choice->forward);
    data_ = choice->forward.src_desc();
    needs_.bottoms = needs_.tops = {LayoutOf(data_)};
    forward_scratch_ = choice->forward.scratchpad_desc();
    needs_.scratch_bytes = static_cast<int64_t>(forward_scratch_.get_size());
    if (!args.backward) return;
    backward_ = dnnl::lrn_backward(choice->backward);
    workspace_ = choice->forward.workspace_desc();
    needs_.saved_bytes = static_cast<int64_t>(workspace_.get_size());
    backward_scratch_ = choice->backward.scratchpad_desc();
    needs_.scratch_bytes =
        std::max(needs_.scratch_bytes, static_cast<int64_t>(backward_scratch_.get_size()));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    forward_args_ = {{DNNL_ARG_SRC, MemoryAt(data_, t_.bottoms[0].raw)},
                     {DNNL_ARG_DST, MemoryAt(data_, t_.tops[0].raw)},
                     {DNNL_ARG_SCRATCHPAD, MemoryAt(forward_scratch_, t_.scratch)}};
    if (!backward_) return;
    backward_args_ = {{DNNL_ARG_SRC, MemoryAt(data_, t_.bottoms[0].raw)},
                      {DNNL_ARG_DIFF_SRC, MemoryAt(data_, t_.bottom_grads[0].raw)},
                      {DNNL_ARG_DIFF_DST, MemoryAt(data_, t_.top_grads[0].raw)},
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
  memory::desc data_, workspace_, forward_scratch_, backward_scratch_;
  DnnlArgs forward_args_, backward_args_;
};

DOPPIO_REGISTER_KERNEL({"LRN", DeviceKind::kCpu, "onednn", 10,
                        [](const KernelArgs& args) -> std::unique_ptr<Kernel> {
                          return std::make_unique<DnnlLrn>(args);
                        },
                        &Declines});

}  // namespace
}  // namespace doppio
