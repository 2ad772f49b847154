// Compares the gradients of a bias and ReLU on a GPU with sums computed on the host.
#include "layers/elementwise/tail_cuda.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

struct View {
  int64_t outer, channels, inner;
  int64_t count() const { return outer * channels * inner; }
  size_t channel(int64_t i) const { return static_cast<size_t>(i / inner % channels); }
};

// Many rows of few channels and few rows of many; channels last (inner = 1) and channels in short
// and in long contiguous runs; sizes that are multiples of a pack and sizes that are not.
const View kViews[] = {{1, 1, 1},   {5, 3, 1},    {700, 64, 1}, {9, 257, 1},
                       {6, 8, 7},   {3, 5, 31},   {2, 3, 64},   {4, 2, 1030},
                       {1, 1, 500}, {4096, 1, 1}, {2, 1000, 1}, {3, 64, 49}};

// The values and their sums are exact in every type and in every order of additions.
float Top(int64_t i) { return static_cast<float>(i % 3) - 1; }
float Gradient(int64_t i) { return static_cast<float>(i % 7) / 2 - 1; }
constexpr float kSlope = 0.5f, kBefore = 4;

template <class T>
class Block {
 public:
  Block(Device* device, int64_t n, float (*value)(int64_t)) : device_(device), kept_(Size(n)) {
    for (int64_t i = 0; i < n; ++i) kept_[static_cast<size_t>(i)] = static_cast<T>(value(i));
    buffer_ = Buffer(device, Bytes());
    device->CopyFromHost(buffer_.data(), kept_.data(), Bytes());
  }
  T* data() const { return static_cast<T*>(buffer_.data()); }
  std::vector<float> Read() {
    device_->CopyToHost(kept_.data(), buffer_.data(), Bytes());
    std::vector<float> values;
    for (T value : kept_) values.push_back(static_cast<float>(value));
    return values;
  }

 private:
  static size_t Size(int64_t n) { return static_cast<size_t>(n); }
  int64_t Bytes() const { return static_cast<int64_t>(kept_.size() * sizeof(T)); }

  Device* device_;
  std::vector<T> kept_;
  Buffer buffer_;
};

template <class T>
void ExpectSums(Device* device, const View& v, DType type, bool masked, bool add) {
  Block<T> y(device, v.count(), &Top), dy(device, v.count(), &Gradient);
  Block<float> sums(device, v.channels, [](int64_t) { return kBefore; });
  const Buffer room(device, ChannelSumsBytes(v.outer, v.channels, v.inner));
  const Gpu gpu = GpuOf(device);
  if (masked) {
    LaunchMaskedChannelSums(gpu, kSlope, v.outer, v.channels, v.inner, type, y.data(), dy.data(),
                            add, sums.data(), room.data());
  } else {
    LaunchChannelSums(gpu, v.outer, v.channels, v.inner, type, dy.data(), add, sums.data(),
                      room.data());
  }
  std::vector<float> gradient, sum(static_cast<size_t>(v.channels), add ? kBefore : 0);
  for (int64_t i = 0; i < v.count(); ++i) {
    gradient.push_back(Gradient(i) * (masked && Top(i) <= 0 ? kSlope : 1));
    sum[v.channel(i)] += gradient.back();
  }
  EXPECT_EQ(dy.Read(), gradient);
  EXPECT_EQ(sums.Read(), sum);
}

void ExpectAllSums(bool masked) {
  const std::unique_ptr<Device> device = TestGpu();
  for (const View& v : kViews) {
    for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      for (bool add : {false, true}) {
        SCOPED_TRACE(std::to_string(v.outer) + " x " + std::to_string(v.channels) + " x " +
                     std::to_string(v.inner) + ", " + Name(type) + (add ? ", added" : ""));
        DispatchStored(type, [&](auto zero) {
          ExpectSums<decltype(zero)>(device.get(), v, type, masked, add);
        });
      }
    }
  }
}

TEST_ON_GPU(TailOnAGpu, SumsAGradientOverItsChannels) { ExpectAllSums(false); }

TEST_ON_GPU(TailOnAGpu, AppliesReluAndSumsInOnePass) { ExpectAllSums(true); }

}  // namespace
}  // namespace doppio
