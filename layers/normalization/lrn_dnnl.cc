// Local response normalisation by oneDNN, if it has more than plain loops: beta 0.75, sizes that
// its code generator supports, and channels in blocks.
#include "core/math/dnnl_isa.h"
#include "layers/normalization/lrn_ops.h"
#include "layers/normalization/window_dnnl.h"

namespace doppio {
namespace {

using Choice = WindowChoice<dnnl::lrn_forward, dnnl::lrn_backward, true>;

Choice MakeLrnDnnl(const KernelArgs& args, const dnnl::memory::desc& data) {
  const LrnForm& form = args.Form<LrnForm>();
  const dnnl::algorithm how = form.window.within ? dnnl::algorithm::lrn_within_channel
                                                 : dnnl::algorithm::lrn_across_channels;
  const LrnParams numbers = {form.local_size(), form.alpha, form.beta, form.k};
  const dnnl::prop_kind kind =
      args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  Choice choice;
  choice.forward = DescribeLrnForward(DnnlAttr(), kind, how, data, numbers);
  if (args.backward) {
    choice.backward = DescribeLrnBackward(DnnlAttr(), choice.forward, how, data, numbers);
  }
  return choice;
}

std::unique_ptr<Choice> Best(const KernelArgs& args) {
  return FastestLayout<Choice>(args, [&](const auto& data) { return MakeLrnDnnl(args, data); });
}

std::string LrnDnnlDeclines(const KernelArgs& args) {
  std::string why = WhyNoDnnlProducts(args.tops[0]);
  if (!why.empty()) return why;
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  const std::unique_ptr<Choice> best = Best(args);
  if (best == nullptr || SlownessOf(*best, args) >= 100)
    return "oneDNN has no fast kernel for this size, beta or channels";
  return "";
}

std::unique_ptr<Kernel> MakeLrn(const KernelArgs& args) {
  const std::unique_ptr<Choice> choice = Best(args);
  DOPPIO_CHECK(choice != nullptr, "an LRN that was declined");
  return std::make_unique<WindowKernel<Choice>>(args, *choice);
}

DOPPIO_REGISTER_KERNEL(
    KernelType("LRN", &MakeLrn).Engine("onednn").Rank(10).Declines(&LrnDnnlDeclines).Narrow());

}  // namespace
}  // namespace doppio
