#include "tests/double/machine/memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

// GPUs whose memory other tests of this program do not use; the second one is only for a test that
// knows which addresses come next.
constexpr int kEmptyGpu = kMostDevices - 1, kUnusedGpu = kMostDevices - 2;

char* NewBlock(int64_t bytes, int device = 0) {
  return static_cast<char*>(AllocateDevice(device, bytes));
}

char ReadAt(const char* at) { return *const_cast<const volatile char*>(at); }

TEST(Memory, IsAlignedAndFilledWithNaN) {
  for (int64_t bytes : {1, 4, 255, 256, 257, 4096, 5000, 100000}) {
    char* const at = NewBlock(bytes, 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % 256, 0u);
    EXPECT_TRUE(IsDeviceAddress(at));
    {
      const OpenMemory open;
      for (int64_t i = 0; i < bytes; ++i) EXPECT_EQ(at[i], static_cast<char>(kPoison));
      float value = 0;
      std::memcpy(&value, at, std::min<int64_t>(bytes, 4));
      EXPECT_TRUE(bytes < 4 || std::isnan(value));
    }
    FreeDevice(at);
  }
}

TEST(Memory, IsClosedToTheHost) {
  char* const at = NewBlock(100);
  EXPECT_EXIT(ReadAt(at + 8), kFault,
              "double: host-access: the host touches block [0-9]+ of GPU 0 \\(100 bytes\\) at "
              "byte 8\n");
  EXPECT_EXIT(at[99] = 1, kFault, "double: host-access: .* at byte 99\n");
  {
    const OpenMemory open;
    at[0] = 5;
  }
  EXPECT_EXIT(ReadAt(at), kFault, "double: host-access: ");
  {
    const OpenMemory open;
    EXPECT_EQ(at[0], 5);
  }
  FreeDevice(at);
}

TEST(Memory, StaysOpenWhileAnyThreadHasItOpen) {
  char* const at = NewBlock(100);
  std::atomic<bool> opened{false}, leave{false};
  std::thread other([&] {
    const OpenMemory open;
    opened = true;
    while (!leave) std::this_thread::yield();
    at[1] = 2;
  });
  while (!opened) std::this_thread::yield();
  {
    const OpenMemory open;
    at[0] = 1;
  }
  EXPECT_EQ(ReadAt(at), 1);
  leave = true;
  other.join();
  EXPECT_EXIT(ReadAt(at), kFault, "double: host-access: ");
  FreeDevice(at);
}

TEST(Memory, HasGuardPagesWhileItIsOpen) {
  char* const at = NewBlock(1024);
  EXPECT_EXIT(
      {
        const OpenMemory open;
        ReadAt(at + 1024);
      },
      kFault, "double: bounds: an access to 0 bytes behind the end of block [0-9]+ of GPU 0");
  EXPECT_EXIT(
      {
        const OpenMemory open;
        at[0] = 1;
        ReadAt(at - 3073);
      },
      kFault, "double: bounds: an access to 3073 bytes in front of block [0-9]+ of GPU 0");
  EXPECT_EXIT(ReadAt(at + 1024), kFault, "double: bounds: ");
  FreeDevice(at);
}

TEST(Memory, FindsWritesIntoItsMargins) {
  for (int64_t offset : {-1, 100, 255}) {
    EXPECT_EXIT(
        {
          char* const at = NewBlock(100);
          {
            const OpenMemory open;
            at[0] = 1;
            at[offset] = 7;
          }
          FreeDevice(at);
        },
        kFault, "double: bounds: somebody wrote .* found when the block was freed");
  }
}

TEST(Memory, ClosesFreedBlocks) {
  char* const at = NewBlock(100);
  FreeDevice(at);
  Block block;
  EXPECT_FALSE(FindBlock(at, &block));
  EXPECT_TRUE(IsDeviceAddress(at));
  EXPECT_EXIT(ReadAt(at), kFault, "double: host-access: the host touches freed block");
  EXPECT_EXIT(
      {
        const OpenMemory open;
        ReadAt(at + 1);
      },
      kFault, "double: bounds: an access to freed block [0-9]+ of GPU 0 \\(100 bytes\\) at byte 1");
  EXPECT_EXIT(FreeDevice(at), kFault, "double: free: device memory is freed at freed block");
  char* const next = NewBlock(100);
  EXPECT_NE(next, at);
  FreeDevice(next);
}

TEST(Memory, RefusesToFreeWhatIsNoBlock) {
  char* const at = NewBlock(100);
  int host = 0;
  EXPECT_EXIT(FreeDevice(at + 1), kFault, "double: free: .* at byte 1, which no such allocation");
  EXPECT_EXIT(FreePinned(at), kFault, "double: free: pinned memory is freed at block");
  EXPECT_EXIT(FreeDevice(&host), kFault, "double: free: .*host memory");
  FreeDevice(at);
}

TEST(Memory, FindsAndDescribesBlocks) {
  char* const at = NewBlock(1000, 3);
  Block block;
  ASSERT_TRUE(FindBlock(at + 999, &block));
  EXPECT_EQ(block.begin, at);
  EXPECT_EQ(block.bytes, 1000);
  EXPECT_EQ(block.device, 3);
  EXPECT_FALSE(FindBlock(at + 1000, &block));
  EXPECT_FALSE(FindBlock(&block, &block));
  const std::string name = "block " + std::to_string(block.number) + " of GPU 3 (1000 bytes)";
  EXPECT_EQ(Describe(at + 128), name + " at byte 128");
  EXPECT_EQ(Describe(at + 1001), "1 bytes behind the end of " + name);
  EXPECT_EQ(Describe(&block), "host memory");
  EXPECT_EQ(Describe(nullptr), "a null pointer");
  FreeDevice(at);
  EXPECT_EQ(Describe(at + 128), "freed " + name + " at byte 128");
}

TEST(Memory, ChecksBounds) {
  char* const at = NewBlock(1000);
  CheckInside(at, 1000, "a copy");
  CheckInside(at + 1000, 0, "a copy of nothing");
  EXPECT_EXIT(CheckInside(at, 1001, "a copy"), kFault,
              "double: bounds: a copy touches 1001 bytes at block .* at byte 0");
  EXPECT_EXIT(CheckInside(at + 999, INT64_MAX, "a copy"), kFault, "double: bounds: ");
  EXPECT_EXIT(CheckInside(at, -1, "a copy"), kFault, "double: bounds: ");
  char host[4];
  EXPECT_EXIT(CheckInside(host, 4, "a copy"), kFault, "double: bounds: .*host memory");
  FreeDevice(at);
}

TEST(Memory, IsOpenToSystemCallsAfterACheck) {
  char* const at = NewBlock(16);
  {
    const OpenMemory open;
    CheckInside(at, 16, "a read");
    std::FILE* const zeros = std::fopen("/dev/zero", "rb");
    std::setvbuf(zeros, nullptr, _IONBF, 0);
    EXPECT_EQ(std::fread(at, 1, 16, zeros), 16u);
    std::fclose(zeros);
    EXPECT_EQ(at[15], 0);
  }
  FreeDevice(at);
}

TEST(Memory, KeepsPinnedMemoryOpen) {
  char* const at = static_cast<char*>(AllocatePinned(1024));
  EXPECT_EQ(at[1023], static_cast<char>(kPoison));
  at[1023] = 1;
  EXPECT_FALSE(IsDeviceAddress(at));
  Block block;
  ASSERT_TRUE(FindBlock(at, &block));
  EXPECT_EQ(block.device, kPinned);
  EXPECT_EXIT(ReadAt(at + 1024), kFault, "double: bounds: .*behind the end of block [0-9]+ of pin");
  FreePinned(at);
  EXPECT_EXIT(ReadAt(at), kFault, "double: host-access: the host touches freed block");
}

TEST(Memory, RunsOut) {
  Settings small;
  small.memory_mib = 1;
  Use(small);
  EXPECT_EQ(TotalBytes(kEmptyGpu), 1 << 20);
  char* const at = NewBlock(1 << 19, kEmptyGpu);
  EXPECT_EQ(FreeBytes(kEmptyGpu), 1 << 19);
  EXPECT_EQ(FreeBytes(kUnusedGpu), 1 << 20);
  EXPECT_EQ(NewBlock((1 << 19) + 1, kEmptyGpu), nullptr);
  EXPECT_EQ(NewBlock(INT64_MAX, kEmptyGpu), nullptr);
  char* const rest = NewBlock(1 << 19, kEmptyGpu);
  EXPECT_NE(rest, nullptr);
  EXPECT_EQ(FreeBytes(kEmptyGpu), 0);
  FreeDevice(at);
  FreeDevice(rest);
  EXPECT_EQ(FreeBytes(kEmptyGpu), 1 << 20);
}

TEST(Memory, UsesAddressesAgainAfterAllOthers) {
  Settings large;
  large.memory_mib = 4096;
  Use(large);
  char* const kept = NewBlock(1 << 20, kUnusedGpu);
  char* const first = NewBlock(int64_t{3} << 30, kUnusedGpu);
  FreeDevice(first);
  int others = 0;
  char* at = nullptr;
  while ((at = NewBlock(int64_t{3} << 30, kUnusedGpu)) > first) {
    FreeDevice(at);
    ++others;
  }
  EXPECT_EQ(others, 20);
  EXPECT_EQ(at, first);
  EXPECT_EQ(Describe(first).rfind("block", 0), 0u);
  FreeDevice(at);
  FreeDevice(kept);
}

TEST(Memory, FailsAsAsked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has allocated nothing yet
  EXPECT_EXIT(
      {
        Settings s;
        s.fail_malloc = 1000000;
        Use(s);
        int64_t n = 0;
        while (NewBlock(1) != nullptr) ++n;
        ::_exit(n == 999999 && NewBlock(1) != nullptr ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// Opening and closing a block takes time for each resident page.
TEST(Memory, HasFewResidentPagesAfterItIsCleared) {
  const int64_t bytes = int64_t{32} << 20;
  char* const at = NewBlock(bytes, kEmptyGpu);
  {
    const OpenMemory open;
    CheckInside(at, bytes, "a clearing");
    SetBytes(at, 0, bytes);
    at[bytes / 2] = 1;
  }
  std::vector<unsigned char> resident(static_cast<size_t>(bytes / 4096));
  ASSERT_EQ(::mincore(at, static_cast<size_t>(bytes), resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](int page) { return page & 1; }), 1);
  FreeDevice(at);
}

TEST(Memory, DoesNotFillHugeBlocks) {
  const int64_t bytes = int64_t{4} << 30;
  char* const at = NewBlock(bytes, kEmptyGpu);
  {
    const OpenMemory open;
    EXPECT_EQ(at[0], static_cast<char>(kPoison));
    EXPECT_EQ(at[bytes - 1], static_cast<char>(kPoison));
    EXPECT_EQ(at[bytes / 2], 0);
  }
  FreeDevice(at);
}

ucontext_t main_context, fiber_context;
char* fiber_memory = nullptr;

TEST(Memory, OpensFromTheSmallStackOfAFiber) {
  fiber_memory = NewBlock(100);
  std::vector<char> stack(4096);
  ::getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = stack.data();
  fiber_context.uc_stack.ss_size = stack.size();
  fiber_context.uc_link = &main_context;
  ::makecontext(
      &fiber_context, [] { fiber_memory[99] = 3; }, 0);
  {
    const OpenMemory open;
    ::swapcontext(&main_context, &fiber_context);
    EXPECT_EQ(fiber_memory[99], 3);
  }
  FreeDevice(fiber_memory);
}

TEST(Memory, HandsOtherFaultsOn) {
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, [](int) { ::_exit(7); });
        const OpenMemory open;
        void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ReadAt(static_cast<char*>(closed));
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, [](int) { ::_exit(7); });
        WatchHostAccess();
        ::raise(SIGSEGV);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace doppio::gpu_double
