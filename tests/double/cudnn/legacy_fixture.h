// A convolution through cuDNN's legacy interface for the tests of the double, and its expected
// results from plain loops.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_FIXTURE_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_FIXTURE_H_

#include <cudnn.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/double/cudnn/common_testing.h"

namespace doppio::gpu_double {

constexpr cudnnStatus_t kSuccess = CUDNN_STATUS_SUCCESS;

inline std::vector<int> Ints(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

// A convolution with its descriptors and tensors. The default has 2 images, 4 -> 6 channels and 2
// groups.
struct Convolution {
  explicit Convolution(cudnnDataType_t type = CUDNN_DATA_FLOAT, bool channels_last = false,
                       std::vector<int64_t> image = {5, 7}, int64_t group = 2, int64_t stride = 2,
                       int64_t kernel = 3)
      : type(type) {
    x.dims = {2, 4};
    w.dims = {6, 4 / group};
    for (int64_t size : image) {
      x.dims.push_back(size);
      w.dims.push_back(kernel);
    }
    g.pads.assign(image.size(), 1);
    g.strides.assign(image.size(), stride);
    g.dilations.assign(image.size(), 1);
    g.group = group;
    y.dims = ConvolvedDims(x.dims, w.dims, g);
    for (Strided* t : {&x, &w, &y}) {
      t->type = type;
      t->strides = DenseStrides(t->dims, channels_last);
    }
    EXPECT_EQ(cudnnCreate(&handle), kSuccess);
    EXPECT_EQ(cudnnSetStream(handle, stream.get()), kSuccess);
    for (auto [descriptor, t] : {std::make_pair(&x_desc, &x), std::make_pair(&y_desc, &y)}) {
      EXPECT_EQ(cudnnCreateTensorDescriptor(descriptor), kSuccess);
      set = std::max(set,
                     cudnnSetTensorNdDescriptor(*descriptor, type, static_cast<int>(t->dims.size()),
                                                Ints(t->dims).data(), Ints(t->strides).data()));
    }
    EXPECT_EQ(cudnnCreateFilterDescriptor(&w_desc), kSuccess);
    EXPECT_EQ(cudnnSetFilterNdDescriptor(w_desc, type,
                                         channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                         static_cast<int>(w.dims.size()), Ints(w.dims).data()),
              kSuccess);
    EXPECT_EQ(cudnnCreateConvolutionDescriptor(&conv), kSuccess);
    EXPECT_EQ(cudnnSetConvolutionNdDescriptor(
                  conv, static_cast<int>(image.size()), Ints(g.pads).data(), Ints(g.strides).data(),
                  Ints(g.dilations).data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              kSuccess);
    EXPECT_EQ(cudnnSetConvolutionGroupCount(conv, static_cast<int>(group)), kSuccess);
    EXPECT_EQ(cudnnSetConvolutionMathType(conv, CUDNN_FMA_MATH), kSuccess);
    auto make = [&](Strided* t, unsigned seed) {
      auto elements = std::make_unique<DeviceElements>(type, SmallNumbers(CountOf(t->dims), seed));
      t->data = elements->data();
      return elements;
    };
    x_data = make(&x, 1);
    w_data = make(&w, 2);
    y_data = make(&y, 3);
    workspace = std::make_unique<DeviceElements>(CUDNN_DATA_FLOAT, 1 << 16);
  }
  ~Convolution() {
    cudnnDestroyTensorDescriptor(x_desc);
    cudnnDestroyTensorDescriptor(y_desc);
    cudnnDestroyFilterDescriptor(w_desc);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroy(handle);
  }

  cudnnStatus_t Forward(int algorithm, float alpha = 1, float beta = 0) {
    return cudnnConvolutionForward(handle, &alpha, x_desc, x.data, w_desc, w.data, conv,
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                                   workspace->data(), workspace->bytes(), &beta, y_desc, y.data);
  }
  cudnnStatus_t BackwardData(int algorithm, float alpha = 1, float beta = 0) {
    return cudnnConvolutionBackwardData(handle, &alpha, w_desc, w.data, y_desc, y.data, conv,
                                        static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                                        workspace->data(), workspace->bytes(), &beta, x_desc,
                                        x.data);
  }
  cudnnStatus_t BackwardFilter(int algorithm, float alpha = 1, float beta = 0) {
    return cudnnConvolutionBackwardFilter(handle, &alpha, x_desc, x.data, y_desc, y.data, conv,
                                          static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                                          workspace->data(), workspace->bytes(), &beta, w_desc,
                                          w.data);
  }
  cudnnStatus_t Find(std::vector<cudnnConvolutionFwdAlgoPerf_t>* perfs, bool measure = true) {
    perfs->resize(2 * CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
    int count = 0;
    const auto ask =
        measure ? cudnnFindConvolutionForwardAlgorithm : cudnnGetConvolutionForwardAlgorithm_v7;
    const cudnnStatus_t status = ask(handle, x_desc, w_desc, conv, y_desc,
                                     static_cast<int>(perfs->size()), &count, perfs->data());
    perfs->resize(static_cast<size_t>(count));
    return status;
  }

  // The expected results of the three products, in memory order, from loops over all elements.
  struct Plain {
    std::vector<float> y, dx, dw;
  };
  Plain Expected() const {
    const std::vector<float> in = x_data->Read(), weights = w_data->Read(), out = y_data->Read();
    Plain p{std::vector<float>(out.size()), std::vector<float>(in.size()),
            std::vector<float>(weights.size())};
    const size_t axes = x.dims.size() - 2;
    const auto at = [&](const Strided& t, const std::vector<int64_t>& index) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * t.strides[i];
      return static_cast<size_t>(offset);
    };
    for (int64_t o = 0; o < CountOf(y.dims); ++o) {
      std::vector<int64_t> yi(y.dims.size());
      for (int64_t axis = static_cast<int64_t>(yi.size()) - 1, rest = o; axis >= 0; --axis) {
        yi[axis] = rest % y.dims[axis];
        rest /= y.dims[axis];
      }
      for (int64_t k = 0; k < CountOf(w.dims) / w.dims[0]; ++k) {
        std::vector<int64_t> wi(w.dims.size());
        for (int64_t axis = static_cast<int64_t>(wi.size()) - 1, rest = k; axis >= 1; --axis) {
          wi[axis] = rest % w.dims[axis];
          rest /= w.dims[axis];
        }
        wi[0] = yi[1];
        std::vector<int64_t> xi{yi[0], yi[1] / (w.dims[0] / g.group) * w.dims[1] + wi[1]};
        bool inside = true;
        for (size_t i = 0; i < axes; ++i) {
          const int64_t p_ = g.flipped ? w.dims[i + 2] - 1 - wi[i + 2] : wi[i + 2];
          xi.push_back(yi[i + 2] * g.strides[i] - g.pads[i] + p_ * g.dilations[i]);
          inside = inside && xi.back() >= 0 && xi.back() < x.dims[i + 2];
        }
        if (!inside) continue;
        p.y[at(y, yi)] += in[at(x, xi)] * weights[at(w, wi)];
        p.dx[at(x, xi)] += out[at(y, yi)] * weights[at(w, wi)];
        p.dw[at(w, wi)] += out[at(y, yi)] * in[at(x, xi)];
      }
    }
    return p;
  }

  const cudnnDataType_t type;
  Strided x, w, y;
  ConvolutionGeometry g;
  cudnnStatus_t set = kSuccess;
  TestStream stream;
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x_desc = nullptr, y_desc = nullptr;
  cudnnFilterDescriptor_t w_desc = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  std::unique_ptr<DeviceElements> x_data, w_data, y_data, workspace;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_FIXTURE_H_
