#include "core/device/launch.cuh"
#include "layers/recurrent/recurrent_cuda.h"

namespace doppio {

void LaunchRecurrent(const Gpu& gpu, int64_t n, const LstmStep<float>& body) {
  ForEachIndex(gpu, n, "a step of LSTM", body);
}

void LaunchRecurrent(const Gpu& gpu, int64_t n, const LstmStepBackward<float>& body) {
  ForEachIndex(gpu, n, "a step of LSTM, backward", body);
}

void LaunchRecurrent(const Gpu& gpu, int64_t n, const TanhStep<float>& body) {
  ForEachIndex(gpu, n, "a step of RNN", body);
}

void LaunchRecurrent(const Gpu& gpu, int64_t n, const TanhStepBackward<float>& body) {
  ForEachIndex(gpu, n, "a step of RNN, backward", body);
}

void LaunchRecurrent(const Gpu& gpu, int64_t n, const ContinueStates<float>& body) {
  ForEachIndex(gpu, n, "the states of a recurrent layer", body);
}

void LaunchRecurrent(const Gpu& gpu, int64_t n, const SumOverSteps<float>& body) {
  ForEachIndex(gpu, n, "the static input of a recurrent layer", body);
}

}  // namespace doppio
