// Tests the emulator of CUDA's blocks: the results of correct kernels, and the detection of faulty
// ones.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "tests/double/blocks/emulator.h"
#include "tests/double/blocks/permutation.h"
#include "tests/double/kernels_for_test.h"
#include "tests/double/machine/counters.h"
#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

// `n` elements in memory of the first GPU.
template <class T>
class OnGpu {
 public:
  explicit OnGpu(int64_t n) : n_(static_cast<size_t>(n)) {
    EXPECT_EQ(cudaMalloc(&data_, n_ * sizeof(T)), cudaSuccess);
  }
  explicit OnGpu(const std::vector<T>& values) : OnGpu(static_cast<int64_t>(values.size())) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~OnGpu() { cudaFree(data_); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  T* data() { return static_cast<T*>(data_); }
  std::vector<T> Read() {
    std::vector<T> values(n_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  size_t n_;
  void* data_ = nullptr;
};

class Blocks : public testing::Test {
 protected:
  Blocks() { EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess); }
  ~Blocks() override { cudaStreamDestroy(stream_); }

  void Finish(cudaError_t launched) {
    EXPECT_EQ(launched, cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  // Returns the numbers of all threads in execution order.
  std::vector<int> Order(int blocks, int threads) {
    OnGpu<int> cursor(std::vector<int>{0}), order(blocks * threads);
    Finish(LaunchAppend(stream_, cursor.data(), order.data(), blocks, threads));
    return order.Read();
  }

  cudaStream_t stream_ = nullptr;
};

std::vector<float> Count(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

#define EXPECT_FAULT(statement, words) \
  EXPECT_EXIT(statement, testing::ExitedWithCode(kFaultStatus), "double: " words)

TEST_F(Blocks, WaitForAllThreadsAtABarrier) {
  const std::vector<float> values = Count(3 * kBlock);
  OnGpu<float> data(values);
  Finish(LaunchReverse(stream_, data.data(), 3, true));
  std::vector<float> expected = values;
  for (int b = 0; b < 3; ++b)
    std::reverse(expected.begin() + b * kBlock, expected.begin() + (b + 1) * kBlock);
  EXPECT_EQ(data.Read(), expected);
}

TEST_F(Blocks, OrderDeviceMemoryByABarrier) {
  const std::vector<float> values = Count(kBlock);
  OnGpu<float> data(values), room(kBlock);
  Finish(LaunchReverseInPlace(stream_, data.data(), room.data(), true));
  EXPECT_EQ(data.Read(), std::vector<float>(values.rbegin(), values.rend()));
}

TEST_F(Blocks, FindAMissingBarrier) {
  OnGpu<float> data(Count(kBlock)), room(kBlock);
  EXPECT_FAULT(Finish(LaunchReverseInPlace(stream_, data.data(), room.data(), false)),
               "block-race: .*ReverseInPlace");
}

TEST_F(Blocks, FindAMissingBarrierOfSharedMemory) {
  OnGpu<float> data(Count(kBlock));
  // Without the barrier, in most orders a thread first reads memory that no thread has written.
  EXPECT_FAULT(Finish(LaunchReverse(stream_, data.data(), 1, false)),
               "(block-race|shared): .*Reverse");
}

TEST_F(Blocks, FindThreadsThatEndBeforeABarrier) {
  EXPECT_FAULT(Finish(LaunchLeave(stream_, 7)),
               "divergence: Leave: .*249 threads wait at the barrier at kernels_for_test.cu:.*, "
               "and 7 have ended");
  Finish(LaunchLeave(stream_, 0));
  Finish(LaunchLeave(stream_, kBlock));
}

TEST_F(Blocks, FindThreadsAtTwoBarriers) {
  EXPECT_FAULT(Finish(LaunchTwoBarriers(stream_)), "divergence: TwoBarriers: .*at the one at");
}

TEST_F(Blocks, FindReadsOfUnwrittenSharedMemory) {
  OnGpu<float> sum(1);
  Finish(LaunchSumShared(stream_, sum.data(), kBlock));
  EXPECT_EQ(sum.Read()[0], 256);
  // Values that an earlier block left in shared memory do not count as written.
  EXPECT_FAULT(Finish(LaunchSumShared(stream_, sum.data(), kBlock - 1)), "shared: SumShared");
}

TEST_F(Blocks, FindMisalignedPacks) {
  const std::vector<float> values = Count(404);
  OnGpu<float> from(values), to(404);
  Finish(LaunchCopyPacks(stream_, from.data() + 4, to.data(), 100));
  EXPECT_EQ(to.Read()[399], values[403]);
  EXPECT_FAULT(Finish(LaunchCopyPacks(stream_, from.data() + 1, to.data(), 100)),
               "alignment: CopyPacks.* 16 bytes");
  EXPECT_FAULT(Finish(LaunchCopyPacks(stream_, from.data(), to.data() + 2, 100)),
               "alignment: CopyPacks.* 16 bytes");
}

TEST_F(Blocks, FindMisalignedElements) {
  OnGpu<float> from(Count(8)), to(8);
  const auto* shifted =
      reinterpret_cast<const float*>(reinterpret_cast<const char*>(from.data()) + 2);
  EXPECT_FAULT(Finish(LaunchCopy(stream_, shifted, to.data(), 4)), "alignment: Copy.* 4 bytes");
}

TEST_F(Blocks, FindWhatIsOutOfBounds) {
  OnGpu<float> from(Count(101)), to(100);
  EXPECT_FAULT(Finish(LaunchCopy(stream_, from.data(), to.data(), 101)), "bounds: ");
  EXPECT_FAULT(Finish(LaunchCopy(stream_, to.data() + 1, from.data(), 100)), "bounds: ");
}

TEST_F(Blocks, FindMemoryOfTheHost) {
  std::vector<float> heap(100);
  float stack[100] = {};
  static float global[100] = {};
  OnGpu<float> to(100);
  EXPECT_FAULT(Finish(LaunchCopy(stream_, heap.data(), to.data(), 100)), "bounds: ");
  EXPECT_FAULT(Finish(LaunchCopy(stream_, stack, to.data(), 100)), "bounds: ");
  EXPECT_FAULT(Finish(LaunchCopy(stream_, to.data(), heap.data(), 100)), "bounds: ");
  // The emulator takes static storage for shared memory, which the kernel has not written.
  EXPECT_FAULT(Finish(LaunchCopy(stream_, global, to.data(), 100)), "shared: ");
}

TEST_F(Blocks, ReadAndWritePinnedMemory) {
  float* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 100 * sizeof(float)), cudaSuccess);
  OnGpu<float> from(Count(100));
  Finish(LaunchCopy(stream_, from.data(), pinned, 100));
  EXPECT_EQ(pinned[99], 100);
  cudaFreeHost(pinned);
}

TEST_F(Blocks, FindBlocksThatWriteTheSame) {
  OnGpu<float> to(1);
  Finish(LaunchWriteOnce(stream_, to.data(), 1));
  EXPECT_FAULT(Finish(LaunchWriteOnce(stream_, to.data(), 2)), "block-race: .*WriteOnce");
}

TEST_F(Blocks, ReadConstants) {
  OnGpu<float> to(6);
  Finish(LaunchTable(stream_, to.data(), 6));
  EXPECT_EQ(to.Read(), (std::vector<float>{1, 10, 100, 1000, 1, 10}));
}

TEST_F(Blocks, DoAtomicOperations) {
  std::vector<int> values(1000);
  for (int i = 0; i < 1000; ++i) values[static_cast<size_t>(i)] = (i * 389) % 1009 - 300;
  OnGpu<int> in(values), most(std::vector<int>{-1000}), least(std::vector<int>{1000});
  OnGpu<unsigned> odd(std::vector<unsigned>{0});
  Finish(LaunchExtremes(stream_, in.data(), 1000, most.data(), least.data(), odd.data()));
  EXPECT_EQ(most.Read()[0], *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(least.Read()[0], *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(odd.Read()[0],
            std::count_if(values.begin(), values.end(), [](int v) { return v % 2 != 0; }));
}

TEST_F(Blocks, RunEachThreadOnceInAnyOrder) {
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 20; ++i) {
    std::vector<int> order = Order(5, 31);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (int t = 0; t < 5 * 31; ++t) ASSERT_EQ(order[static_cast<size_t>(t)], t);
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST_F(Blocks, AddUpRowsLikeTheHost) {
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
           {5, 7}, {3, 100}, {4, 1000}, {2, 50000}, {1, 20000}}) {
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 31 % 97);
    OnGpu<float> from(values);
    OnGpu<double> sums(rows);
    OnGpu<char> room(std::max<int64_t>(1, SumRowsBytes(rows, cols)));
    SumRows(stream_, rows, cols, from.data(), sums.data(), room.data());
    Finish(cudaSuccess);
    std::vector<double> expected;
    for (int64_t row = 0; row < rows; ++row) {
      const auto begin = values.begin() + row * cols;
      expected.push_back(std::accumulate(begin, begin + cols, 0.0));
    }
    EXPECT_EQ(sums.Read(), expected) << rows << " x " << cols;
  }
}

TEST_F(Blocks, CountKernelsAndTheirBytes) {
  OnGpu<float> from(Count(1000)), to(1000);
  const Counters before = ReadCounters();
  Finish(LaunchCopy(stream_, from.data(), to.data(), 1000));
  const Counters after = ReadCounters();
  EXPECT_EQ(after.kernels - before.kernels, 1);
  EXPECT_EQ(after.kernel_bytes - before.kernel_bytes, 8000);
}

TEST_F(Blocks, RejectWhatNoGpuTakes) {
  OnGpu<float> to(1);
  EXPECT_EQ(LaunchWriteOnce(stream_, to.data(), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchTable(stream_, to.data(), 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchLargeArgument(stream_), cudaErrorInvalidValue);
}

// Returns the executed pairs of block and thread in order, each encoded as one number.
std::vector<unsigned> Places(uint64_t seed, uint3 grid, uint3 block) {
  static std::vector<unsigned>& places = *new std::vector<unsigned>();
  places.clear();
  const Body body = {[](const void*) {
                       for (const uint3& i : {here.block, here.thread})
                         places.push_back(i.x + 100 * (i.y + 100 * i.z));
                     },
                     nullptr};
  RunBlocks("a kernel", grid, block, seed, body);
  return places;
}

TEST(Emulator, RepeatsAnOrderByItsSeed) {
  const uint3 grid = {3, 2, 2}, block = {4, 3, 2};
  const std::vector<unsigned> places = Places(1, grid, block);
  EXPECT_EQ(places.size(), 2u * 12 * 24);
  EXPECT_TRUE(places == Places(1, grid, block));
  EXPECT_FALSE(places == Places(2, grid, block));
}

TEST(Permutation, HasEachNumberOnce) {
  Draws draws(1);
  for (uint64_t n = 1; n < 300; ++n) {
    Permutation permutation(n, &draws);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < n; ++i) seen.insert(permutation.Next());
    ASSERT_EQ(seen.size(), n);
    ASSERT_EQ(*seen.rbegin(), n - 1);
  }
}

}  // namespace
}  // namespace doppio::gpu_double
