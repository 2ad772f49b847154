// Graphs for the tests of cuDNN's backend, their tensors, and the expected results.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FIXTURE_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FIXTURE_H_

#include <algorithm>
#include <string>

#include "tests/double/cudnn/backend_case.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {

constexpr int64_t kCompiled = 8, kFillsUp = 9;  // engines that support a tail
constexpr int64_t kEngines = 11;

inline const TensorCase kX{1, {2, 8, 5, 4}}, kW{2, {8, 8, 3, 3}}, kY{3, {2, 8, 5, 4}};
inline const TensorCase kBias{4, {1, 8, 1, 1}, CUDNN_DATA_FLOAT}, kOther{5, {2, 8, 5, 4}};
inline TensorCase Inside(int64_t id) { return {id, kY.dims, CUDNN_DATA_FLOAT, true}; }

class CudnnGraphCase : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  void Begin(const std::string& plant = "", bool refuse = false, int fail = 0) {
    Settings settings = TheSettings();
    settings.plant = plant;
    settings.refuse = refuse;
    settings.cudnn_fail = fail;
    settings.devices = 2;
    Use(settings);
    ASSERT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    ASSERT_EQ(cudnnSetStream(handle_, stream_), CUDNN_STATUS_SUCCESS);
  }

  Key Plain() {
    EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, kY)}, handle_, &graph_), CUDNN_STATUS_SUCCESS);
    return graph_;
  }
  // Returns a graph of relu(convolution + bias + other).
  Key Fused() {
    const TensorCase a = Inside(100), b = Inside(101), c = Inside(102);
    EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, a), PointwiseKey(CUDNN_POINTWISE_ADD, a, &kBias, b),
                         PointwiseKey(CUDNN_POINTWISE_ADD, b, &kOther, c),
                         PointwiseKey(CUDNN_POINTWISE_RELU_FWD, c, nullptr, kY)},
                        handle_, &graph_),
              CUDNN_STATUS_SUCCESS);
    return graph_;
  }

  // Returns device memory filled with small whole numbers, or with halves for the bias and the
  // other tensor.
  void* Fill(const TensorCase& tensor) {
    const int64_t count = CountOf(tensor.dims), bytes = BytesOf(tensor.type);
    std::vector<char> host(static_cast<size_t>(count * bytes));
    for (int64_t i = 0; i < count; ++i) {
      StoreElement(tensor.type, host.data(), i, Value(tensor, i));
    }
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, host.size()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data, host.data(), host.size(), cudaMemcpyHostToDevice), cudaSuccess);
    return data;
  }
  static double Value(const TensorCase& tensor, int64_t i) {
    return static_cast<double>((i * 7 + tensor.id * 3) % 5 - 2) / (tensor.id > 3 ? 2 : 1);
  }
  std::map<int64_t, void*> Places(bool fused) {
    std::map<int64_t, void*> places;
    for (const TensorCase& tensor : {kX, kW, kY}) places[tensor.id] = Fill(tensor);
    if (fused) {
      for (const TensorCase& tensor : {kBias, kOther}) places[tensor.id] = Fill(tensor);
    }
    return places;
  }
  void* Workspace(int64_t bytes) {
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, static_cast<size_t>(std::max<int64_t>(1, bytes))), cudaSuccess);
    return data;
  }
  // Waits for the stream, and returns the values at `data` in memory order.
  std::vector<double> Result(const TensorCase& tensor, const void* data) {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    const int64_t count = CountOf(tensor.dims);
    std::vector<char> host(static_cast<size_t>(count * BytesOf(tensor.type)));
    EXPECT_EQ(cudaMemcpy(host.data(), data, host.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(LoadElement(tensor.type, host.data(), i));
    }
    return values;
  }
  std::vector<double> Result(const void* data) { return Result(kY, data); }

  // Computes the result from the definition, in memory order (channels last).
  static std::vector<double> Expected(bool fused) {
    const int64_t n = 2, c = 8, h = 5, w = 4;
    std::vector<double> values;
    for (int64_t at = 0; at < n * h * w * c; ++at) {
      const int64_t k = at % c, q = at / c % w, p = at / (c * w) % h, image = at / (c * w * h);
      double sum = 0;
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t s = 0; s < 3; ++s) {
          const int64_t i = p + r - 1, j = q + s - 1;
          if (i < 0 || i >= h || j < 0 || j >= w) continue;
          for (int64_t d = 0; d < c; ++d) {
            sum += Value(kX, ((image * h + i) * w + j) * c + d) *
                   Value(kW, ((k * 3 + r) * 3 + s) * c + d);
          }
        }
      }
      if (fused) sum = std::max(0.0, sum + Value(kBias, k) + Value(kOther, at));
      values.push_back(sum);
    }
    return values;
  }

  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  Key graph_ = nullptr;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FIXTURE_H_
