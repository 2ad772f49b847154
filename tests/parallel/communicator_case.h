// Checks the contract of every communicator. Each rank calls it with its own communicator and the
// device whose memory that sums (null: host memory).
#ifndef DOPPIO_TESTS_PARALLEL_COMMUNICATOR_CASE_H_
#define DOPPIO_TESTS_PARALLEL_COMMUNICATOR_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/net/contract/communicator.h"
#include "core/tensor/half.h"

namespace doppio {

// Returns element i of a rank's data: small integers, so that sums are exact in every type.
inline double NumberOf(int rank, int64_t i) {
  return static_cast<double>((i * 7 + rank * 3) % 11 - 5);
}

// Calls f(memory) on a copy of `data` in the device's memory, and copies the result back.
template <class T, class F>
void OnDevice(Device* device, std::vector<T>* data, const F& f) {
  const int64_t bytes = static_cast<int64_t>(data->size() * sizeof(T));
  if (device == nullptr) {
    f(data->data());
    return;
  }
  const Buffer buffer(device, bytes + 1);
  device->CopyFromHost(buffer.data(), data->data(), bytes);
  f(buffer.data());
  device->CopyToHost(data->data(), buffer.data(), bytes);
}

template <class T>
void ExpectSums(Communicator* end, Device* device, DType dtype, int64_t count) {
  std::vector<T> data(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    data[static_cast<size_t>(i)] = static_cast<T>(static_cast<float>(NumberOf(end->rank(), i)));
  OnDevice(device, &data, [&](void* memory) { end->AllReduce(memory, count, dtype); });
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int r = 0; r < end->size(); ++r) sum += NumberOf(r, i);
    ASSERT_EQ(static_cast<float>(data[static_cast<size_t>(i)]), static_cast<float>(sum))
        << Name(dtype) << " element " << i << " of " << count << " on rank " << end->rank();
  }
}

// Checks both halves of an all-reduce of cuts.back() elements.
template <class T>
void ExpectShares(Communicator* end, Device* device, DType dtype,
                  const std::vector<int64_t>& cuts) {
  const int64_t count = cuts.back(), begin = cuts[end->rank()], mine = cuts[end->rank() + 1];
  std::vector<T> data(count), shared(count, T(0.0f));
  for (int64_t i = 0; i < count; ++i)
    data[i] = static_cast<T>(static_cast<float>(i % 5 == 0 ? 0 : NumberOf(end->rank(), i)));
  OnDevice(device, &data, [&](void* memory) { end->ReduceScatter(memory, cuts, dtype); });
  for (int64_t i = 0; i < count; i += 5) ASSERT_EQ(static_cast<float>(data[i]), 0) << i;
  std::copy(data.begin() + begin, data.begin() + mine, shared.begin() + begin);
  OnDevice(device, &shared, [&](void* memory) { end->AllGather(memory, cuts, dtype); });
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int r = 0; r < end->size() && i % 5 != 0; ++r) sum += NumberOf(r, i);
    ASSERT_EQ(static_cast<float>(shared[i]), static_cast<float>(sum))
        << Name(dtype) << " element " << i << " of " << count << " on rank " << end->rank();
  }
}

// Tests even shares, shares of which only the last or the first one has elements, and unequal ones.
inline void ExpectDivides(Communicator* end, Device* device, int64_t count) {
  const int ranks = end->size();
  std::vector<int64_t> even, last(ranks + 1, 0), first(ranks + 1, count), grows;
  for (int r = 0; r <= ranks; ++r) even.push_back(count * r / ranks);
  for (int r = 0; r <= ranks; ++r) grows.push_back(count * r * r / (ranks * ranks));
  last.back() = count;
  first.front() = 0;
  for (const auto& cuts : {even, last, first, grows}) {
    ExpectShares<float>(end, device, DType::kFloat32, cuts);
    ExpectShares<double>(end, device, DType::kFloat64, cuts);
    ExpectShares<Half>(end, device, DType::kFloat16, cuts);
    ExpectShares<BFloat16>(end, device, DType::kBFloat16, cuts);
  }
}

// Tests counts of no elements, of fewer elements than ranks, and of more than any block.
inline void ExpectCommunicates(Communicator* end, Device* device = nullptr) {
  for (int64_t count : {0, 1, 2, 3, 5, 1000, 100003}) {
    ExpectSums<float>(end, device, DType::kFloat32, count);
    ExpectSums<double>(end, device, DType::kFloat64, count);
    ExpectSums<Half>(end, device, DType::kFloat16, count);
    ExpectSums<BFloat16>(end, device, DType::kBFloat16, count);
    ExpectDivides(end, device, count);
  }
  for (int root = 0; root < end->size(); ++root) {
    std::vector<int64_t> data(1003, end->rank());
    OnDevice(device, &data, [&](void* memory) {
      end->Broadcast(memory, static_cast<int64_t>(data.size() * sizeof(int64_t)), root);
    });
    EXPECT_EQ(data, std::vector<int64_t>(1003, root)) << "from " << root << " to " << end->rank();
  }
  end->Broadcast(nullptr, 0, 0);
  for (int i = 0; i < 100; ++i) end->Barrier();
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_COMMUNICATOR_CASE_H_
