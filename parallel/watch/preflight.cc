#include "parallel/watch/preflight.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/math/tensor_ops.h"

namespace doppio {

std::string TimeAllReduce(Communicator* bulk, Device* device, int64_t bytes) {
  constexpr int kTimes = 4;  // the first sum sets things up
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  const Buffer memory(device, bytes);
  const Tensor numbers(TensorSpec{Shape{count}, DType::kFloat32, Layout()}, memory.data());
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTimes; ++i) {
    OpsOf(device).Fill(static_cast<float>(bulk->rank() + 1), numbers);
    device->Synchronize();
    bulk->Barrier();
    const auto begun = std::chrono::steady_clock::now();
    bulk->ExchangeAfterCompute(-1);
    bulk->AllReduce(memory.data(), count, DType::kFloat32);
    best = std::min(best, SecondsSince(begun));
  }
  std::vector<float> sums(count);
  device->CopyToHost(sums.data(), memory.data(), bytes);
  const int sum_of_ranks = bulk->size() * (bulk->size() + 1) / 2;
  const auto expected = static_cast<float>(sum_of_ranks);
  const auto wrong =
      std::find_if(sums.begin(), sums.end(), [&](float sum) { return sum != expected; });
  if (wrong != sums.end()) {
    throw DeviceError("a test sum over ", bulk->size(), " ranks gives ", *wrong, " instead of ",
                      expected, " on rank ", bulk->rank(), ", ", device->name(),
                      "; try another --comm, and check the connection between the GPUs");
  }
  char text[64];
  std::snprintf(text, sizeof text, ": %.2f ms, %.1f GB/s", 1e3 * best,
                static_cast<double>(bytes) / best / 1e9);
  return "all-reduce of " + Bytes(bytes) + text;
}

}  // namespace doppio
