#include "parallel/reduce/gradient_copy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/solvers/param_store_case.h"

namespace doppio {
namespace {

// 3 * 24576 exceeds float16's range. The number, a third of it and three times it are exact in
// bfloat16.
TEST(GradientCopy, HoldsSumsThatItsTypeDoesNot) {
  for (const DType type : {DType::kBFloat16, DType::kFloat16}) {
    SCOPED_TRACE(Name(type));
    ParamStoreCase c({{Shape{3}}, {Shape{70}}}, DType::kFloat32);
    const Tensor gradients = c.store().arenas().grads();
    std::fill_n(gradients.data<float>(), gradients.stored(), 24576.0f);
    GradientCopy copy(&c.store(), type, 3);
    const int64_t half = gradients.stored() / 2;
    copy.AddBucket({0, half}, {0, half});
    copy.AddBucket({half, gradients.stored()}, {half, gradients.stored()});
    copy.Narrow(1);
    DispatchStored(type, [&](auto zero) {
      using T = decltype(zero);
      T* sums = static_cast<T*>(copy.at(1));
      for (int64_t i = 0; i < gradients.stored() - half; ++i)
        sums[i] = T(3 * static_cast<float>(sums[i]));
    });
    copy.Widen(1);
    for (int64_t i = 0; i < half; ++i) ASSERT_EQ(gradients.data<float>()[i], 24576.0f) << i;
    for (int64_t i = half; i < gradients.stored(); ++i)
      ASSERT_EQ(gradients.data<float>()[i], 3 * 24576.0f) << i;
  }
}

}  // namespace
}  // namespace doppio
