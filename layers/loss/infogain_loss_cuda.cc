// InfogainLoss on a GPU.
#include "layers/loss/infogain_loss_spec.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/weighted_softmax_kernel_cuda.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> MakeInfogainLossCuda(const KernelArgs& args) {
  return std::make_unique<CudaWeightedSoftmaxLoss>(args,
                                                   InfogainForm(*args.spec, args.bottoms[0].shape));
}

DOPPIO_REGISTER_KERNEL({"InfogainLoss", DeviceKind::kCuda, "cuda", 10, &MakeInfogainLossCuda,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
