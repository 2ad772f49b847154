// Device memory and helpers for the tests of the cuBLAS and cuDNN doubles.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_TESTING_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_TESTING_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/convolution.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {

// Returns `count` small numbers that every element type represents exactly.
inline std::vector<float> SmallNumbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 9) - 4) / 2;
  return values;
}

// An array of any element type in memory of the current device.
class DeviceElements {
 public:
  DeviceElements(cudnnDataType_t type, int64_t count) : type_(type), count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, bytes()), cudaSuccess);
  }
  DeviceElements(cudnnDataType_t type, const std::vector<float>& values)
      : DeviceElements(type, static_cast<int64_t>(values.size())) {
    Write(values);
  }
  ~DeviceElements() { cudaFree(data_); }
  DeviceElements(const DeviceElements&) = delete;
  DeviceElements& operator=(const DeviceElements&) = delete;

  void Write(const std::vector<float>& values) {
    std::vector<char> host(bytes());
    for (int64_t i = 0; i < count_; ++i) {
      StoreElement(type_, host.data(), i, values[static_cast<size_t>(i)]);
    }
    EXPECT_EQ(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
    // A copy from pageable memory may return before it is done.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  std::vector<float> Read() const {
    std::vector<char> host(bytes());
    EXPECT_EQ(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    std::vector<float> values(static_cast<size_t>(count_));
    for (int64_t i = 0; i < count_; ++i) {
      values[static_cast<size_t>(i)] = static_cast<float>(LoadElement(type_, host.data(), i));
    }
    return values;
  }

  void* data() const { return data_; }
  size_t bytes() const { return static_cast<size_t>(count_ * BytesOf(type_)); }

 private:
  const cudnnDataType_t type_;
  const int64_t count_;
  void* data_ = nullptr;
};

class TestStream {
 public:
  TestStream() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~TestStream() { cudaStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Sets the settings for one test. Libraries refuse nothing unless `refuse`.
inline void UseSettings(uint64_t seed, bool refuse = false, const std::string& plant = "") {
  Settings settings;
  settings.seed = seed;
  settings.refuse = refuse;
  settings.plant = plant;
  Use(settings);
}

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_TESTING_H_
