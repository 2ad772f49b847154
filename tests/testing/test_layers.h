// Layers for tests.
//
// - TestInput: its tops keep the values that the test writes into them from pass to pass.
// - TestSource: writes given values to its tops in every pass and keeps their gradients. It learns,
//   so its tops may be overwritten.
// - TestSourceBlocked8 and TestSourceBlocked16: like TestSource, but tops of 3 to 5 axes are stored
//   in blocks of 8 or 16 channels.
// - TestSourceLast, only on a GPU: like TestSource, but tops are stored with channels last.
// - TestProbe: a loss, computed as a fixed combination of its bottoms with a different weight for
//   each element.
#ifndef DOPPIO_TESTS_TESTING_TEST_LAYERS_H_
#define DOPPIO_TESTS_TESTING_TEST_LAYERS_H_

#include <cstdint>
#include <vector>

#include "core/net/contract/layer.h"

namespace doppio {

// Returns the values of a tensor of any layout in row-major order, or an empty vector if the tensor
// is absent. `device` holds the tensor; null means the host.
std::vector<double> ReadPlain(const Tensor& tensor, Device* device = nullptr);
// Writes row-major `values` to a tensor of any layout. `device` holds the tensor; null means the
// host.
void WritePlain(const std::vector<double>& values, const Tensor& tensor, Device* device = nullptr);

// Returns the number of nonzero elements in the padding of blocked channels. All kernels must keep
// this padding zero.
int64_t PaddingInUse(const Tensor& tensor);

// Writes `values` to its tops and reads their gradients.
class TestSource : public Kernel {
 public:
  static constexpr int kChannelsLast = -1;  // used as `block`
  TestSource(const KernelArgs& args, int block);
  void Forward(const Pass& pass) override;
  void Backward(const Pass& pass, const std::vector<bool>& add) override;

  std::vector<std::vector<double>> values;  // values for each top
  std::vector<std::vector<double>>
      gradients;               // gradient of each top after Backward; empty if absent
  int64_t padding_in_use = 0;  // in the top gradients

 private:
  Device* device_;
};

// Computes a loss from its bottoms, in whatever layout they arrive.
class TestProbe : public Kernel {
 public:
  explicit TestProbe(const KernelArgs& args);
  void Forward(const Pass& pass) override;
  void Backward(const Pass& pass, const std::vector<bool>& add) override;

  std::vector<std::vector<double>> seen;  // values of the bottoms in the last Forward
  std::vector<double> gradient;  // if set, the gradient of bottom 0; other gradients are then 0
  int64_t padding_in_use = 0;    // in the bottoms

 private:
  Device* device_;
};

// Returns the derivative of the probe's loss with respect to an element of a bottom.
double ProbeWeight(int bottom, int64_t element);

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_TEST_LAYERS_H_
