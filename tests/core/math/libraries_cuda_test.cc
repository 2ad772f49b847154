// Tests, without a GPU, the GPU libraries that Doppio opens at run time.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/shared_library.h"
#include "core/device/device_cuda.h"
#include "core/math/cublas.h"
#include "core/math/cudnn.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Returns the reason why a library cannot be opened, or "" if it can.
std::string WhyNot(const std::string& file) {
  return MistakeIfAny<DeviceError>([&] { SharedLibrary(file, file); });
}

bool HasGpu() {
  int count = 0;
  const bool asked = cudaGetDeviceCount(&count) == cudaSuccess;
  cudaGetLastError();
  return asked && count > 0;
}

// A stand-in for a GPU, with just enough functions to load the GPU libraries.
class NoGpu : public GpuDevice {
 public:
  ~NoGpu() override { attached().Clear(); }
  std::string name() const override { return "no GPU"; }
  Gpu gpu() override { return {}; }
  void* Allocate(int64_t bytes) override { return memory_->Allocate(bytes); }
  void Free(void* memory) noexcept override { memory_->Free(memory); }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyFromHost(to, from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyToHost(to, from, bytes);
  }
  void Zero(void* memory, int64_t bytes) override { memory_->Zero(memory, bytes); }
  void Synchronize() override {}
  int64_t bytes_in_use() const override { return 0; }
  int64_t peak_bytes() const override { return 0; }

 private:
  const std::unique_ptr<Device> memory_ = MakeCpuDevice();
};

TEST(Cublas, SaysThatItCannotStartWithoutAGpu) {
  const std::string missing = WhyNot("libcublas.so.13");
  if (!missing.empty()) GTEST_SKIP() << missing;
  if (HasGpu()) GTEST_SKIP() << "this machine has a GPU";
  NoGpu device;
  float one = 1;
  const GemmMatrix matrix{&one, DType::kFloat32, 1};
  const std::string message = Mistake<DeviceError>([&] {
    GpuGemm(&device, {false, false, 1, 1, 1}, matrix, matrix, 0, matrix);
  });
  EXPECT_EQ(message.find("cuBLAS failed at its start: "), 0u) << message;
}

TEST(Cudnn, SaysThatItCannotStartWithoutAGpu) {
  const std::string missing = WhyNot("libcudnn.so.9");
  if (!missing.empty()) GTEST_SKIP() << missing;
  EXPECT_GE(Cudnn().cudnnGetVersion(), 90000u);
  if (HasGpu()) GTEST_SKIP() << "this machine has a GPU";
  NoGpu device;
  const std::string message = Mistake<DeviceError>([&] { CudnnHandle(&device); });
  EXPECT_EQ(message.find("cuDNN failed at its start: "), 0u) << message;
}

// cuDNN opens these libraries by name, and does not search Doppio's folders for them.
TEST(Cudnn, FindsTheLibrariesThatItOpensByName) {
  const std::string missing = WhyNot("libcudnn.so.9");
  if (!missing.empty()) GTEST_SKIP() << missing;
  Cudnn();
  for (const char* file : {"libnvrtc.so.13", "libcublasLt.so.13"}) {
    const bool open = dlopen(file, RTLD_NOW | RTLD_NOLOAD) != nullptr;
    EXPECT_TRUE(open || !WhyNot(file).empty()) << file;
  }
}

// cuDNN creates descriptors on the host, so it can check them without a GPU.
TEST(Cudnn, SeesTheConvolutionThatIsMeant) {
  const std::string missing = WhyNot("libcudnn.so.9");
  if (!missing.empty()) GTEST_SKIP() << missing;
  struct Case {
    std::vector<int64_t> x, w, y;
    CudnnConvolutionShape shape;
  };
  const Case cases[] = {
      {{3, 8, 9, 7}, {6, 4, 3, 2}, {3, 6, 5, 3}, {{1, 0}, {2, 2}, {1, 2}, 2}},
      {{2, 5, 1, 11}, {4, 5, 1, 3}, {2, 4, 1, 6}, {{0, 1}, {1, 2}, {1, 1}, 1}},
      {{2, 3, 4, 5, 6}, {3, 1, 2, 3, 2}, {2, 3, 3, 5, 6}, {{0, 1, 1}, {1, 1, 1}, {1, 1, 2}, 3}},
  };
  for (const Case& c : cases) {
    for (bool channels_last : {false, true}) {
      const CudnnTensor x(c.x, DType::kFloat32, channels_last);
      const CudnnFilter w(c.w, DType::kFloat32, channels_last);
      for (MathMode math : {MathMode::kFloat32, MathMode::kTf32}) {
        const CudnnConvolution conv(c.shape, DType::kFloat32, math);
        std::vector<int> y(c.y.size());
        CheckCudnn(Cudnn().cudnnGetConvolutionNdForwardOutputDim(
                       conv.get(), x.get(), w.get(), static_cast<int>(y.size()), y.data()),
                   "telling a top's shape");
        EXPECT_EQ(std::vector<int64_t>(y.begin(), y.end()), c.y);
      }
    }
  }
}

TEST(Cudnn, SaysWhatItDidNotTake) {
  const std::string missing = WhyNot("libcudnn.so.9");
  if (!missing.empty()) GTEST_SKIP() << missing;
  const std::string message = Mistake<DeviceError>([] {
    CudnnTensor({-1, 2, 3, 4}, DType::kFloat32, false);
  });
  EXPECT_EQ(message.find("cuDNN failed at describing a tensor: "), 0u) << message;
}

}  // namespace
}  // namespace doppio
