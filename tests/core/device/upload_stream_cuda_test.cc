#include "core/device/upload_stream_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

constexpr int64_t kBytes = 1000;

void Send(UploadStream* uploads, char value, int64_t bytes = kBytes) {
  char* const memory = static_cast<char*>(uploads->Fill());
  std::fill(memory, memory + bytes, value);
  uploads->Send(bytes);
}

// Copies the oldest batch to the host and releases it.
std::vector<char> Receive(UploadStream* uploads, Device* device, int64_t bytes = kBytes) {
  const Buffer copy(device, bytes);
  CopyOnDevice(device, copy.data(), uploads->Take(), bytes);
  uploads->Release();
  std::vector<char> values(static_cast<size_t>(bytes));
  device->CopyToHost(values.data(), copy.data(), bytes);
  return values;
}

TEST_ON_GPU(UploadStream, DeliversBatchesInOrderWhileTheNextIsSent) {
  const std::unique_ptr<Device> gpu = TestGpu();
  UploadStream uploads(gpu.get(), kBytes);
  Send(&uploads, 0);
  for (char i = 0; i < 20; ++i) {
    Send(&uploads, static_cast<char>(i + 1));
    EXPECT_EQ(Receive(&uploads, gpu.get()), std::vector<char>(kBytes, i));
  }
}

TEST_ON_GPU(UploadStream, TakesBatchesThatGrow) {
  const std::unique_ptr<Device> gpu = TestGpu();
  UploadStream uploads(gpu.get(), kBytes, 3);
  for (char i = 1; i < 10; ++i) {
    Send(&uploads, i, 100 * i);
    EXPECT_EQ(Receive(&uploads, gpu.get(), 100 * i),
              std::vector<char>(static_cast<size_t>(100 * i), i));
  }
}

TEST_ON_GPU(UploadStream, DropsWhatWasSentAndNotTaken) {
  const std::unique_ptr<Device> gpu = TestGpu();
  UploadStream uploads(gpu.get(), kBytes);
  for (char i = 0; i < 6; i = static_cast<char>(i + 3)) {
    Send(&uploads, i);
    Send(&uploads, static_cast<char>(i + 1));
    uploads.Drop();
    Send(&uploads, static_cast<char>(i + 2));
    EXPECT_EQ(Receive(&uploads, gpu.get()), std::vector<char>(kBytes, static_cast<char>(i + 2)));
  }
  Send(&uploads, 9);  // the stream is destroyed with this batch in flight
}

}  // namespace
}  // namespace doppio
