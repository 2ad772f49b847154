// STOCHASTIC Pooling on a GPU.
#include "layers/pooling/plain_pooling_cuda.h"
#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

bool IsStochastic(const KernelArgs& args) {
  return args.spec->param.pooling_param().pool() == PoolingParameter::STOCHASTIC;
}

std::string StochasticPoolingCudaDeclines(const KernelArgs& args) {
  return IsStochastic(args) ? DeclinesDouble(args) : "it is for STOCHASTIC";
}

std::unique_ptr<Kernel> MakeStochasticPoolingCuda(const KernelArgs& args) {
  return std::make_unique<PlainPoolingKernel<float, GpuPoolingLoops>>(
      args, std::vector<PlainPooling>{ReadStochasticPooling(*args.spec, args.bottoms[0].shape)});
}

// Behind the other methods' kernel, which declines this one.
DOPPIO_REGISTER_KERNEL({"Pooling", DeviceKind::kCuda, "cuda", 5, &MakeStochasticPoolingCuda,
                        &StochasticPoolingCudaDeclines});

}  // namespace
}  // namespace doppio
