// Local response normalisation by oneDNN, if it has more than plain loops: beta 0.75, sizes that
// its code generator supports, and channels in blocks.
#include <algorithm>
#include <optional>

#include "core/math/dnnl_isa.h"
#include "layers/common/dnnl_support.h"
#include "layers/common/dnnl_ways.h"
#include "layers/normalization/lrn_ops.h"

namespace doppio {
namespace {

// The primitives for one layout of the bottom.
struct LrnDnnlChoice {
  dnnl::lrn_forward::primitive_desc forward;
  dnnl::lrn_backward::primitive_desc backward;  // empty if backward is not needed
};

// Throws dnnl::error if oneDNN does not support the layout.
LrnDnnlChoice MakeLrnDnnl(const KernelArgs& args, const dnnl::memory::desc& data) {
  const LrnForm& form = args.Form<LrnForm>();
  const dnnl::algorithm how = form.window.within ? dnnl::algorithm::lrn_within_channel
                                                 : dnnl::algorithm::lrn_across_channels;
  const LrnParams numbers = {form.local_size(), form.alpha, form.beta, form.k};
  const dnnl::prop_kind kind =
      args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  LrnDnnlChoice choice;
  choice.forward = DescribeLrnForward(DnnlAttr(), kind, how, data, numbers);
  if (args.backward) {
    choice.backward = DescribeLrnBackward(DnnlAttr(), choice.forward, how, data, numbers);
  }
  return choice;
}

// Returns the bottom in its own layout, in the type of the top.
dnnl::memory::desc BottomDesc(const KernelArgs& args) {
  return WithType(DescOf(args.bottoms[0]), args.tops[0]);
}

// Returns the cost of a choice: the cost classes of its primitives (see Slowness), plus
// kReorderSlowness if the bottom must be reordered.
double SlownessOf(const LrnDnnlChoice& choice, const KernelArgs& args) {
  double slowness = Slowness(choice.forward.impl_info_str());
  if (choice.forward.src_desc() != BottomDesc(args)) slowness += kReorderSlowness;
  if (args.backward) slowness += Slowness(choice.backward.impl_info_str());
  return slowness;
}

// Returns the fastest choice among the useful layouts, or nullopt if there is none.
std::optional<LrnDnnlChoice> FastestLrnDnnl(const KernelArgs& args) {
  const Shape& shape = args.bottoms[0].shape;
  const DType type = args.tops[0];
  DnnlWays<LrnDnnlChoice> ways;
  const auto offer = [&](const char* name, const dnnl::memory::desc& src) {
    ways.Add(
        name, 0, [&args, src] { return MakeLrnDnnl(args, src); },
        [&args](const LrnDnnlChoice& made) {
          return CandidateTrial{"", SlownessOf(made, args), made.forward.impl_info_str()};
        });
  };
  offer("the bottom's layout", BottomDesc(args));
  offer("blocks of 16 channels", ChannelBlocked(shape, 16, type));
  offer("blocks of 8 channels", ChannelBlocked(shape, 8, type));
  offer("plain layout", PlainDesc(shape, type));
  return ways.Best("layouts", args);
}

class LrnDnnl : public Kernel {
 public:
  LrnDnnl(const KernelArgs& args, const LrnDnnlChoice& choice)
      : forward_(choice.forward),
        src_(choice.forward.src_desc()),
        dst_(choice.forward.dst_desc()),
        forward_scratch_(ScratchpadOf(choice.forward.scratchpad_desc())) {
    needs_.bottoms = {LayoutOf(src_)};
    needs_.tops = {LayoutOf(dst_)};
    needs_.types = {args.tops[0]};
    needs_.scratch_bytes = static_cast<int64_t>(forward_scratch_.get_size());
    if (!args.backward) return;
    backward_ = dnnl::lrn_backward(choice.backward);
    workspace_ = choice.forward.workspace_desc();
    needs_.saved_bytes = static_cast<int64_t>(workspace_.get_size());
    backward_scratch_ = ScratchpadOf(choice.backward.scratchpad_desc());
    needs_.scratch_bytes =
        std::max(needs_.scratch_bytes, static_cast<int64_t>(backward_scratch_.get_size()));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    const dnnl::memory src = MemoryAt(src_, t_.bottoms[0].raw);
    forward_args_ = {{DNNL_ARG_SRC, src},
                     {DNNL_ARG_DST, MemoryAt(dst_, t_.tops[0].raw)},
                     {DNNL_ARG_SCRATCHPAD, MemoryAt(forward_scratch_, t_.scratch)}};
    if (!backward_) return;
    backward_args_ = {{DNNL_ARG_SRC, src},
                      {DNNL_ARG_DIFF_SRC, MemoryAt(src_, t_.bottom_grads[0].raw)},
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
  dnnl::lrn_forward forward_;
  dnnl::lrn_backward backward_;
  dnnl::memory::desc src_, dst_, workspace_, forward_scratch_, backward_scratch_;
  DnnlArgs forward_args_, backward_args_;
};

std::string LrnDnnlDeclines(const KernelArgs& args) {
  std::string why = WhyNoDnnlProducts(args.tops[0]);
  if (!why.empty()) return why;
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  const std::optional<LrnDnnlChoice> best = FastestLrnDnnl(args);
  if (!best || SlownessOf(*best, args) >= 100)
    return "oneDNN has no fast kernel for this size, beta or channels";
  return "";
}

std::unique_ptr<Kernel> MakeLrn(const KernelArgs& args) {
  const std::optional<LrnDnnlChoice> choice = FastestLrnDnnl(args);
  DOPPIO_CHECK(choice.has_value(), "an LRN that was declined");
  return std::make_unique<LrnDnnl>(args, *choice);
}

DOPPIO_REGISTER_KERNEL(
    KernelType("LRN", &MakeLrn).Engine("onednn").Rank(10).Declines(&LrnDnnlDeclines).Narrow());

}  // namespace
}  // namespace doppio
