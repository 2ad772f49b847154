// Tests the CUDA operations on whole tensors in all types, at addresses that are aligned to packs
// and at others.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/math/tensor_ops.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

// n numbers in device memory, starting `offset` elements after the start of a block.
template <class T>
class Numbers {
 public:
  Numbers(Device* device, int64_t n, int64_t offset)
      : device_(device),
        offset_(offset),
        kept_(static_cast<size_t>(n + offset + kBehind), static_cast<T>(kUntouched)),
        buffer_(device, Bytes()) {}

  template <class F>
  Numbers& Set(const F& value) {
    for (int64_t i = 0; i < count(); ++i)
      kept_[static_cast<size_t>(offset_ + i)] =
          static_cast<T>(static_cast<ComputeType<T>>(value(i)));
    return Upload();
  }
  Numbers& Upload() {
    device_->CopyFromHost(buffer_.data(), kept_.data(), Bytes());
    return *this;
  }

  Tensor tensor(DType type) const {
    return {TensorSpec{Shape{count()}, type, Layout()}, static_cast<T*>(buffer_.data()) + offset_};
  }

  // Checks that element i equals value(i), and that the memory around the numbers is unchanged.
  template <class F>
  void Expect(const F& value) {
    device_->CopyToHost(kept_.data(), buffer_.data(), Bytes());
    for (int64_t i = 0; i < static_cast<int64_t>(kept_.size()); ++i) {
      const bool inside = i >= offset_ && i < offset_ + count();
      const auto found = static_cast<ComputeType<T>>(kept_[static_cast<size_t>(i)]);
      ASSERT_EQ(static_cast<double>(found), inside ? value(i - offset_) : kUntouched)
          << "element " << i - offset_ << " of " << count() << ", offset " << offset_;
    }
  }

 private:
  static constexpr double kUntouched = 77;
  static constexpr int64_t kBehind = 9;

  int64_t count() const { return static_cast<int64_t>(kept_.size()) - offset_ - kBehind; }
  int64_t Bytes() const { return static_cast<int64_t>(kept_.size() * sizeof(T)); }

  Device* const device_;
  const int64_t offset_;
  std::vector<T> kept_;
  Buffer buffer_;
};

// The values, and sums of two of them, are exact in every type.
double X(int64_t i) { return static_cast<double>(i % 17) - 8; }
double Y(int64_t i) { return static_cast<double>(i % 5) / 2; }

// Calls check(zero, type, elements, offset) for each combination, where `zero` has the C++ type.
template <class F>
void InAllTypes(const F& check) {
  for (DType type : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (int64_t n : {1, 7, 8, 64, 1003}) {
      for (int64_t offset : {0, 1, 8}) {
        DispatchReal(type, [&](auto zero) { check(zero, type, n, offset); });
      }
    }
  }
}

class TensorOpsOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
    device_ = TestGpu();
    ops_ = &OpsOf(device_.get());
  }
  template <class T>
  Numbers<T> Make(T, int64_t n, int64_t offset) {
    return Numbers<T>(device_.get(), n, offset);
  }

  std::unique_ptr<Device> device_;
  const TensorOps* ops_ = nullptr;
};

TEST_F(TensorOpsOnGpu, AddAlsoInPlace) {
  InAllTypes([&](auto zero, DType type, int64_t n, int64_t offset) {
    const auto sum = [](int64_t i) { return X(i) + Y(i); };
    auto a = Make(zero, n, 0), b = Make(zero, n, offset), to = Make(zero, n, offset);
    a.Set(X), b.Set(Y), to.Upload();
    ops_->Add(a.tensor(type), b.tensor(type), to.tensor(type));
    to.Expect(sum);
    a.Expect(X);
    ops_->Add(a.tensor(type), b.tensor(type), b.tensor(type));
    b.Expect(sum);
  });
}

TEST_F(TensorOpsOnGpu, FillAndScaleOnlyTheirTensor) {
  InAllTypes([&](auto zero, DType type, int64_t n, int64_t offset) {
    auto numbers = Make(zero, n, offset);
    numbers.Set(X);
    ops_->Scale(0.5, numbers.tensor(type));
    numbers.Expect([](int64_t i) { return X(i) / 2; });
    ops_->Fill(-1.5f, numbers.tensor(type));
    numbers.Expect([](int64_t) { return -1.5; });
  });
}

TEST_F(TensorOpsOnGpu, ConvertBetweenStoredTypes) {
  InAllTypes([&](auto zero, DType type, int64_t n, int64_t offset) {
    if (type == DType::kFloat64) return;
    auto narrow = Make(zero, n, offset);
    auto wide = Make(float(), n, offset);
    narrow.Set(X), wide.Upload();
    const Tensor from = narrow.tensor(type), to = wide.tensor(DType::kFloat32);
    ops_->Convert(from, to)->Run(from.raw, to.raw);
    wide.Expect(X);
    wide.Set(Y);
    ops_->Convert(to, from)->Run(to.raw, from.raw);
    narrow.Expect(Y);
  });
}

template <class From, class To>
std::vector<To> Converted(Device* device, DType from_type, DType to_type,
                          const std::vector<From>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  const TensorSpec from{shape, from_type, Layout()}, to{shape, to_type, Layout()};
  const Buffer source(device, from.bytes()), target(device, to.bytes());
  device->CopyFromHost(source.data(), values.data(), from.bytes());
  OpsOf(device).Convert(from, to)->Run(source.data(), target.data());
  std::vector<To> converted(values.size());
  device->CopyToHost(converted.data(), target.data(), to.bytes());
  return converted;
}

// Returns all numbers of a 16-bit type.
template <class T>
std::vector<T> AllNumbers() {
  std::vector<T> numbers(1 << 16);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i].bits = static_cast<uint16_t>(i);
  return numbers;
}

// GPUs convert by instructions of their own (core/tensor/half.h); half_test.cc checks the host's
// conversions. A NaN may have any bits.
template <class T>
void ExpectConvertsLikeTheHost(Device* device, DType type) {
  const std::vector<T> numbers = AllNumbers<T>();
  const std::vector<float> wide = Converted<T, float>(device, type, DType::kFloat32, numbers);
  // All numbers, the middles between neighbours, and the next floats on both sides of each middle.
  std::vector<float> floats = {65519.0f, 65520.0f, 1e30f, 1e-40f, HUGE_VALF, NAN};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<float>(numbers[i]);
    if (std::isnan(number)) {
      ASSERT_TRUE(std::isnan(wide[i])) << "pattern " << i;
    } else {
      ASSERT_EQ(half_bits::BitsOf(wide[i]), half_bits::BitsOf(number)) << "pattern " << i;
    }
    T next;
    next.bits = static_cast<uint16_t>(i + 1);
    const float middle = number / 2 + static_cast<float>(next) / 2;
    floats.insert(floats.end(), {number, middle, std::nextafter(middle, -HUGE_VALF),
                                 std::nextafter(middle, HUGE_VALF)});
  }
  const std::vector<T> narrow = Converted<float, T>(device, DType::kFloat32, type, floats);
  for (size_t i = 0; i < floats.size(); ++i) {
    if (std::isnan(floats[i])) {
      ASSERT_TRUE(std::isnan(static_cast<float>(narrow[i]))) << i;
    } else {
      ASSERT_EQ(narrow[i].bits, T(floats[i]).bits) << floats[i];
    }
  }
}

TEST_F(TensorOpsOnGpu, RoundAndWidenAllNumbersLikeTheHost) {
  ExpectConvertsLikeTheHost<Half>(device_.get(), DType::kFloat16);
  ExpectConvertsLikeTheHost<BFloat16>(device_.get(), DType::kBFloat16);
}

}  // namespace
}  // namespace doppio
