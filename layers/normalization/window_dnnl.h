// Kernels of layers that oneDNN computes over windows of one bottom, with a workspace from forward
// to backward, such as LRN. Each layer defines how its primitives are created for a layout. This
// file chooses the layout and runs the primitives.
#ifndef DOPPIO_LAYERS_NORMALIZATION_WINDOW_DNNL_H_
#define DOPPIO_LAYERS_NORMALIZATION_WINDOW_DNNL_H_

#include <algorithm>
#include <memory>

#include "core/net/contract/kernel.h"
#include "layers/common/dnnl_support.h"

namespace doppio {

// The primitives for one layout of the bottom. kReadsBottom is true if the backward primitive reads
// the bottom.
template <class ForwardPrimitive, class BackwardPrimitive, bool kReads>
struct WindowChoice {
  using Forward = ForwardPrimitive;
  using Backward = BackwardPrimitive;
  static constexpr bool kReadsBottom = kReads;
  typename Forward::primitive_desc forward;
  typename Backward::primitive_desc backward;  // empty if backward is not needed
};

// Returns the bottom in its own layout, in the type of the top.
inline dnnl::memory::desc BottomDesc(const KernelArgs& args) {
  return WithType(DescOf(args.bottoms[0]), args.tops[0]);
}

// Returns the cost of a choice: the cost classes of its primitives (see Slowness), plus
// kReorderSlowness if the bottom must be reordered.
template <class Choice>
double SlownessOf(const Choice& choice, const KernelArgs& args) {
  double slowness = Slowness(choice.forward.impl_info_str());
  if (choice.forward.src_desc() != BottomDesc(args)) slowness += kReorderSlowness;
  if (args.backward) slowness += Slowness(choice.backward.impl_info_str());
  return slowness;
}

// Returns the fastest choice among the useful layouts, or null if there is none. make(bottom's
// descriptor) returns a Choice, and throws dnnl::error if oneDNN does not support it.
template <class Choice, class Make>
std::unique_ptr<Choice> FastestLayout(const KernelArgs& args, const Make& make) {
  const Shape& shape = args.bottoms[0].shape;
  std::unique_ptr<Choice> best;
  double least = 0;
  const DType type = args.tops[0];
  for (const dnnl::memory::desc& src : {BottomDesc(args), ChannelBlocked(shape, 16, type),
                                        ChannelBlocked(shape, 8, type), PlainDesc(shape, type)}) {
    if (best != nullptr && least == 0) break;
    try {
      Choice choice = make(src);
      const double slowness = SlownessOf(choice, args);
      if (best != nullptr && slowness >= least) continue;
      best = std::make_unique<Choice>(choice);
      least = slowness;
    } catch (const dnnl::error&) {
      continue;
    }
  }
  return best;
}

// Runs the primitives of a choice.
template <class Choice>
class WindowKernel : public Kernel {
 public:
  WindowKernel(const KernelArgs& args, const Choice& choice)
      : forward_(choice.forward),
        src_(choice.forward.src_desc()),
        dst_(choice.forward.dst_desc()),
        forward_scratch_(ScratchpadOf(choice.forward.scratchpad_desc())) {
    needs_.bottoms = {LayoutOf(src_)};
    needs_.tops = {LayoutOf(dst_)};
    needs_.types = {args.tops[0]};
    needs_.scratch_bytes = static_cast<int64_t>(forward_scratch_.get_size());
    if (!args.backward) return;
    backward_ = typename Choice::Backward(choice.backward);
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
    backward_args_ = {{DNNL_ARG_DIFF_SRC, MemoryAt(src_, t_.bottom_grads[0].raw)},
                      {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[0].raw)},
                      {DNNL_ARG_SCRATCHPAD, MemoryAt(backward_scratch_, t_.scratch)}};
    if (Choice::kReadsBottom) backward_args_.emplace(DNNL_ARG_SRC, src);
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
  typename Choice::Forward forward_;
  typename Choice::Backward backward_;
  dnnl::memory::desc src_, dst_, workspace_, forward_scratch_, backward_scratch_;
  DnnlArgs forward_args_, backward_args_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_WINDOW_DNNL_H_
