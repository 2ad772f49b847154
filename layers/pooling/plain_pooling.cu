// SPP and STOCHASTIC Pooling on a GPU, in single precision.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/pooling/pooling_form.h"

namespace doppio {
namespace {

struct PlainPoolingCudaLoops {
  explicit PlainPoolingCudaLoops(Device* device) : device(device) {}
  void Run(int64_t n, const PlainPoolingForward<float>& body) const {
    ForEachIndex(GpuOf(device), n, "Pooling", body);
  }
  void Run(int64_t n, const PlainPoolingBackward<float>& body) const {
    ForEachIndex(GpuOf(device), n, "Pooling's gradient", body);
  }
  Device* device;
};
using CudaPlainPooling = PlainPoolingKernel<float, PlainPoolingCudaLoops>;

std::unique_ptr<Kernel> MakeSppCuda(const KernelArgs& args) {
  return std::make_unique<CudaPlainPooling>(args, args.Form<SppForm>().levels);
}

std::unique_ptr<Kernel> MakeStochasticPoolingCuda(const KernelArgs& args) {
  return std::make_unique<CudaPlainPooling>(
      args, std::vector<PlainPooling>{*args.Form<PoolingForm>().stochastic});
}

std::string StochasticPoolingCudaDeclines(const KernelArgs& args) {
  return args.Form<PoolingForm>().stochastic ? DeclinesDouble(args) : "it is for STOCHASTIC";
}

DOPPIO_REGISTER_KERNEL(CudaKernel("SPP", &MakeSppCuda));
// A lower rank than the kernel of the other methods, which declines STOCHASTIC.
DOPPIO_REGISTER_KERNEL(CudaKernel("Pooling", &MakeStochasticPoolingCuda)
                           .Rank(5)
                           .Declines(&StochasticPoolingCudaDeclines));

}  // namespace
}  // namespace doppio
