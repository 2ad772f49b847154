// What Eltwise's kernels need of the file.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_FORM_H_
#define DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_FORM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace doppio {

// kQuotient: the product whose gradient is y / x, as stable_prod_grad: false has it.
enum class EltwiseOp { kSum, kMax, kProduct, kQuotient };

struct EltwiseForm {
  EltwiseOp op = EltwiseOp::kSum;
  std::vector<float> coefficients;  // one for each bottom

  bool plain_sum() const {
    return op == EltwiseOp::kSum && std::all_of(coefficients.begin(), coefficients.end(),
                                                [](float c) { return c == 1; });
  }
};

// Which bottom was the largest. The type bounds how many bottoms there can be.
using EltwiseWinner = uint16_t;
constexpr int kMostEltwiseBottoms = 1 << 16;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_FORM_H_
