// The form of Interp, i.e. what its kernels need from the net file and the bottom's shape, and the
// kernel that all devices share.
#ifndef DOPPIO_LAYERS_SHAPE_INTERP_KERNEL_H_
#define DOPPIO_LAYERS_SHAPE_INTERP_KERNEL_H_

#include "core/net/contract/kernel.h"
#include "layers/shape/interp_resize.h"

namespace doppio {

struct InterpForm {
  // Number of samples times number of channels.
  int64_t planes;
  ResizedAxis h, w;
};

// `Loops` is constructed from a Device*; its Run(n, body) calls body(i) for every i in [0, n).
template <class T, class Loops>
class InterpKernel : public FormKernel<InterpForm> {
 public:
  explicit InterpKernel(const KernelArgs& args) : FormKernel(args), loops_(args.device) {}

  void Forward(const Pass&) override {
    loops_.Run(t_.tops[0].count(), ResizeForward<T>{form_.h,
                                                    form_.w,
                                                    {form_.planes, form_.h.output, form_.w.output},
                                                    BottomValues<T>(0),
                                                    TopValues<T>(0)});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    loops_.Run(t_.bottoms[0].count(),
               ResizeBackward<T>{form_.h,
                                 form_.w,
                                 {form_.planes, form_.h.input, form_.w.input},
                                 TopGradient<T>(0),
                                 BottomGradient<T>(0)});
  }

  bool same_every_pass() const override { return true; }

 private:
  const Loops loops_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_INTERP_KERNEL_H_
