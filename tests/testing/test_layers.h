// Layers that only tests use.
//
//   TestInput    tops hold what the test writes into them, from pass to pass.
//   TestSource   the same, but it learns: so its tops may be overwritten, and gradients come back
//   to it.
//                TestSourceBlocked8 and TestSourceBlocked16 make tops of 3 to 5 axes in blocks of
//                channels.
//                TestSourceLast, on a GPU only, makes them with channels last.
//   TestProbe    a loss: a fixed combination of its bottoms in which every element matters
//   differently.
#ifndef DOPPIO_TESTS_TESTING_TEST_LAYERS_H_
#define DOPPIO_TESTS_TESTING_TEST_LAYERS_H_

#include <cstdint>
#include <vector>

#include "core/net/graph/layer.h"

namespace doppio {

// The values of a tensor of any layout in row-major order; none when it is absent. `device` is
// where it lies; null: the host.
std::vector<double> ReadPlain(const Tensor& tensor, Device* device = nullptr);
void WritePlain(const std::vector<double>& values, const Tensor& tensor, Device* device = nullptr);

// Elements of padding (of blocked channels) that are not zero, as all kernels promise that they
// are.
int64_t PaddingInUse(const Tensor& tensor);

class TestSource : public Kernel {
 public:
  static constexpr int kChannelsLast = -1;  // in place of a block's channels
  TestSource(const KernelArgs& args, int block);
  void Forward(const Pass& pass) override;
  void Backward(const Pass& pass, const std::vector<bool>& add) override;

  std::vector<std::vector<double>> values;     // what the tops will hold
  std::vector<std::vector<double>> gradients;  // what came back; empty where nothing did
  int64_t padding_in_use = 0;                  // in these gradients

 private:
  Device* device_;
};

// Takes its bottoms in the layout they have.
class TestProbe : public Kernel {
 public:
  explicit TestProbe(const KernelArgs& args);
  void Forward(const Pass& pass) override;
  void Backward(const Pass& pass, const std::vector<bool>& add) override;

  std::vector<std::vector<double>> seen;  // the bottoms of the last Forward
  std::vector<double> gradient;           // if given: of bottom 0, the others' being 0
  int64_t padding_in_use = 0;             // in the bottoms

 private:
  Device* device_;
};

// The derivative of the probe's loss by element `element` of its bottom `bottom`.
double ProbeWeight(int bottom, int64_t element);

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_TEST_LAYERS_H_
