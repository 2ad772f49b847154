// The form of Eltwise, which its kernels on every device read.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_FORM_H_
#define DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_FORM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace doppio {

// kQuotient is the product whose gradient is y / x * dy, as with `stable_prod_grad: false`.
enum class EltwiseOp { kSum, kMax, kProduct, kQuotient };

struct EltwiseForm {
  EltwiseOp op = EltwiseOp::kSum;
  std::vector<float> coefficients;  // one per bottom

  // Returns true if the layer adds its bottoms without coefficients other than 1.
  bool plain_sum() const {
    return op == EltwiseOp::kSum &&
           std::all_of(coefficients.begin(), coefficients.end(), [](float c) { return c == 1; });
  }
};

// The index of the bottom that holds the maximum. Its type limits the number of bottoms.
using EltwiseWinner = uint16_t;
constexpr int kMostEltwiseBottoms = 1 << 16;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_FORM_H_
