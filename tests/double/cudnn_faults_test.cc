#include <functional>
#include <memory>

#include "tests/double/cudnn/legacy_fixture.h"
#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

TEST(Cudnn, FailsTheExecutionThatTheSettingsName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Settings settings;
        settings.cudnn_fail = 2;
        settings.refuse = false;
        Use(settings);
        Convolution c;
        const bool as_asked = c.Forward(0) == kSuccess &&
                              c.Forward(0) == CUDNN_STATUS_EXECUTION_FAILED &&
                              c.Forward(0) == kSuccess;
        std::_Exit(as_asked ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Cudnn, RefusesWrongDescriptorsWithAReason) {
  UseSettings(1);
  cudnnTensorDescriptor_t t = nullptr;
  ASSERT_EQ(cudnnCreateTensorDescriptor(&t), kSuccess);
  const auto set = [&](std::vector<int> dims, std::vector<int> strides) {
    return cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, static_cast<int>(dims.size()),
                                      dims.data(), strides.data());
  };
  EXPECT_EQ(set({2, 3, 4}, {12, 4, 1}), CUDNN_STATUS_NOT_SUPPORTED);
  char text[100] = "";
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT_STREQ(text, "cudnnSetTensorNdDescriptor: 3 dims, not 4 to 8");
  EXPECT_EQ(set({2, 3, 0, 4}, {12, 4, 4, 1}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set({2, 3, 4, 5}, {60, 20, 4, 1}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set({2, 3, 4, 5}, {60, 1, 15, 3}), kSuccess);
  cudnnDestroyTensorDescriptor(t);
  Convolution c;
  EXPECT_EQ(cudnnSetConvolutionGroupCount(c.conv, 4), kSuccess);
  EXPECT_EQ(c.Forward(0), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(cudnnSetConvolutionGroupCount(c.conv, 0), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionMathType(c.conv, static_cast<cudnnMathType_t>(9)),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetVersion(), 91900u);
}

// Checks that `run` on a convolution ends the process with `fault`.
void ExpectFault(const std::string& fault, const std::function<void(Convolution*)>& run,
                 const std::string& plant = "", cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        UseSettings(1, false, plant);
        Convolution c(type, type != CUDNN_DATA_FLOAT, {8, 8}, 1, 1);
        run(&c);
        std::_Exit(0);
      },
      testing::ExitedWithCode(kFaultStatus), "double: " + fault);
}

TEST(CudnnDeathTest, FindsMistakesOfItsCaller) {
  ExpectFault("current-device", [](Convolution* c) {
    cudaSetDevice(1);
    c->Forward(0);
  });
  ExpectFault("workspace", [](Convolution* c) {
    c->workspace = std::make_unique<DeviceElements>(CUDNN_DATA_FLOAT, 8);
    c->Forward(1);
  });
  ExpectFault("bounds", [](Convolution* c) {
    c->x.data = static_cast<float*>(c->x.data) + 1;
    c->Forward(0);
  });
  ExpectFault("overlap", [](Convolution* c) {
    c->y.data = c->x.data;
    c->x.data = c->y_data->data();
    c->y.data = c->x.data;
    c->Forward(0);
  });
  ExpectFault("handle", [](Convolution* c) {
    cudnnDestroyTensorDescriptor(c->x_desc);
    c->Forward(0);
  });
  ExpectFault(
      "alignment",
      [](Convolution* c) {
        c->x.data = static_cast<char*>(c->x.data) + 2;
        c->Forward(0);
      },
      "", CUDNN_DATA_HALF);
}

TEST(CudnnDeathTest, SaysTooSmallWorkspacesWhenPlanted) {
  ExpectFault(
      "workspace",
      [](Convolution* c) {
        size_t bytes = 0;
        ASSERT_EQ(cudnnGetConvolutionForwardWorkspaceSize(
                      c->handle, c->x_desc, c->w_desc, c->conv, c->y_desc,
                      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes),
                  kSuccess);
        c->workspace = std::make_unique<DeviceElements>(CUDNN_DATA_FLOAT, bytes / 4);
        c->Forward(0);
      },
      "workspace-small");
}

TEST(Cudnn, SwapsStridesWhenPlanted) {
  UseSettings(1, false, "swapped-strides");
  EXPECT_EQ(Convolution().set, CUDNN_STATUS_BAD_PARAM);  // the convolution has 5 x 7 pixels
  Convolution square(CUDNN_DATA_FLOAT, false, {4, 4}, 1, 1);
  ASSERT_EQ(square.set, kSuccess);
  const auto expected = square.Expected();
  ASSERT_EQ(square.Forward(0), kSuccess);
  square.stream.Wait();
  EXPECT_NE(square.y_data->Read(), expected.y);
}

}  // namespace
}  // namespace doppio::gpu_double
