// RNN, LSTM and LSTMUnit on a GPU, in single precision. cuBLAS computes the products. The device
// records the steps with the rest of the net, so that the host does not launch each kernel of each
// step.
#include "core/device/launch.cuh"
#include "core/math/cublas.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/elementwise/tail_cuda.h"
#include "layers/recurrent/lstm_unit_kernel.h"
#include "layers/recurrent/recurrent_kernel.h"

namespace doppio {
namespace {

// Return the name of a kernel for error messages.
const char* NameOf(const LstmStep<float>&) { return "a step of LSTM"; }
const char* NameOf(const LstmStepBackward<float>&) { return "a step of LSTM, backward"; }
const char* NameOf(const TanhStep<float>&) { return "a step of RNN"; }
const char* NameOf(const TanhStepBackward<float>&) { return "a step of RNN, backward"; }
const char* NameOf(const ContinueStates<float>&) { return "the states of a recurrent layer"; }
const char* NameOf(const SumOverSteps<float>&) { return "the static input of a recurrent layer"; }

// Math on a GPU (recurrent_kernel.h).
struct GpuMath {
  explicit GpuMath(Device* device) : device(device) {}

  template <class F>
  void Run(int64_t n, const F& body) const {
    ForEachIndex(GpuOf(device), n, NameOf(body), body);
  }

  void Product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
               bool add, float* c) const {
    constexpr DType kType = DType::kFloat32;
    GpuGemm(device, {ta, tb, m, n, k}, GemmFactor(a, kType, ta ? m : k),
            GemmFactor(b, kType, tb ? k : n), add ? 1 : 0, {c, kType, n});
  }

  static int64_t ColumnSumsBytes(int64_t rows, int64_t columns) {
    return ChannelSumsBytes(rows, columns, 1);
  }
  void ColumnSums(int64_t rows, int64_t columns, const float* x, bool add, float* to,
                  void* room) const {
    LaunchChannelSums(GpuOf(device), rows, columns, 1, DType::kFloat32, x, add, to, room);
  }

  void Copy(void* to, const void* from, int64_t bytes) const {
    CopyOnDevice(device, to, from, bytes);
  }

  Device* device;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<LstmUnitKernel<float, GpuMath>>("LSTMUnit"));
DOPPIO_REGISTER_KERNEL(CudaKernel<RecurrentKernel<float, GpuMath>>("LSTM"));
DOPPIO_REGISTER_KERNEL(CudaKernel<RecurrentKernel<float, GpuMath>>("RNN"));

}  // namespace
}  // namespace doppio
