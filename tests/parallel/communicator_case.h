// What every communicator promises, whatever carries its data: run by every rank with its own end.
#ifndef DOPPIO_TESTS_PARALLEL_COMMUNICATOR_CASE_H_
#define DOPPIO_TESTS_PARALLEL_COMMUNICATOR_CASE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/net/communicator.h"
#include "core/tensor/half.h"

namespace doppio {

// Element i of a rank's data: small integers, so that sums are exact in every type.
inline double NumberOf(int rank, int64_t i) { return static_cast<double>((i * 7 + rank * 3) % 11 - 5); }

template <class T>
void ExpectSums(Communicator* end, DType dtype, int64_t count) {
  std::vector<T> data(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) data[static_cast<size_t>(i)] = static_cast<T>(static_cast<float>(NumberOf(end->rank(), i)));
  end->AllReduce(data.data(), count, dtype);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int r = 0; r < end->size(); ++r) sum += NumberOf(r, i);
    ASSERT_EQ(static_cast<float>(data[static_cast<size_t>(i)]), static_cast<float>(sum))
        << Name(dtype) << " element " << i << " of " << count << " on rank " << end->rank();
  }
}

// Fewer elements than ranks, none at all, and more than any block.
inline void ExpectCommunicates(Communicator* end) {
  for (int64_t count : {0, 1, 2, 3, 5, 1000, 100003}) {
    ExpectSums<float>(end, DType::kFloat32, count);
    ExpectSums<double>(end, DType::kFloat64, count);
    ExpectSums<Half>(end, DType::kFloat16, count);
    ExpectSums<BFloat16>(end, DType::kBFloat16, count);
  }
  for (int root = 0; root < end->size(); ++root) {
    std::vector<int64_t> data(1003, end->rank());
    end->Broadcast(data.data(), static_cast<int64_t>(data.size() * sizeof(int64_t)), root);
    EXPECT_EQ(data, std::vector<int64_t>(1003, root)) << "from " << root << " to " << end->rank();
  }
  end->Broadcast(nullptr, 0, 0);
  for (int i = 0; i < 100; ++i) end->Barrier();
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_COMMUNICATOR_CASE_H_
