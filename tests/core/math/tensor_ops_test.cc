#include "core/math/tensor_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device.h"
#include "core/math/dnnl.h"
#include "core/tensor/half.h"

namespace doppio {
namespace {

// A tensor of 3 channels in blocks of 8: five numbers of each block are padding.
template <class T>
void FillsElementsOnly(DType type) {
  const dnnl::memory::desc desc({2, 3, 2, 1}, dnnl::memory::data_type::f32,
                                dnnl::memory::format_tag::aBcd8b);
  const TensorSpec spec{{2, 3, 2, 1}, type, LayoutOf(desc)};
  ASSERT_TRUE(spec.layout.padded());
  std::vector<T> memory(static_cast<size_t>(spec.stored()), static_cast<T>(7.0f));
  const std::unique_ptr<Device> device = MakeCpuDevice();
  OpsOf(device.get()).Fill(0.5f, Tensor(spec, memory.data()));
  ASSERT_EQ(memory.size(), 32);
  for (size_t i = 0; i < memory.size(); ++i)
    EXPECT_EQ(static_cast<float>(memory[i]), i % 8 < 3 ? 0.5f : 0.0f) << i;
}

TEST(CpuTensorOps, FillLeavesZerosInPadding) { FillsElementsOnly<float>(DType::kFloat32); }

TEST(CpuTensorOps, FillLeavesZerosInPaddingOf16Bits) {
  FillsElementsOnly<BFloat16>(DType::kBFloat16);
}

}  // namespace
}  // namespace doppio
