// Helpers for tests of the NCCL double: ranks on threads, each with a GPU and a stream.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_TESTING_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_TESTING_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/double/machine/testing.h"
#include "tests/double/nccl/api.h"
#include "tests/double/nccl/functions.h"

namespace doppio::gpu_double {

struct Rank {
  int rank = 0, size = 0;
  void* comm = nullptr;
  cudaStream_t stream = nullptr;

  int Settle(int result) const {
    while (result == kNcclInProgress) EXPECT_EQ(ncclCommGetAsyncError(comm, &result), 0);
    return result;
  }
  int Sum(const void* from, void* to, size_t count, int type = kNcclFloat32) const {
    return Settle(ncclAllReduce(from, to, count, type, kNcclSum, comm, stream));
  }
};

inline Rank Join(const NcclId& id, int rank, int size, bool blocking) {
  Rank r{rank, size};
  NcclConfig config{sizeof(NcclConfig), 0xcafebeef, 21400, blocking ? 1 : 0};
  EXPECT_EQ(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(r.Settle(ncclCommInitRankConfig(&r.comm, size, id, rank, &config)), 0);
  return r;
}

inline void OnRanks(int size, bool blocking, const std::function<void(const Rank&)>& body) {
  NcclId id;
  ASSERT_EQ(ncclGetUniqueId(&id), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([=] {
      EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
      const Rank r = Join(id, rank, size, blocking);
      body(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline void End(const Rank& r) { EXPECT_EQ(ncclCommDestroy(r.comm), 0); }

inline float* NewFloats(const std::vector<float>& values) {
  void* at = nullptr;
  EXPECT_EQ(cudaMalloc(&at, values.size() * 4), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(at, values.data(), values.size() * 4, cudaMemcpyHostToDevice), cudaSuccess);
  return static_cast<float*>(at);
}

inline std::vector<float> Floats(const Rank& r, const float* at, size_t count) {
  std::vector<float> values(count);
  EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(values.data(), at, count * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  return values;
}

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_TESTING_H_
