#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "tests/double/machine/memory.h"
#include "tests/double/machine/races.h"
#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

class KernelRaces : public ::testing::Test {
 protected:
  KernelRaces() : at_(static_cast<char*>(AllocateDevice(0, 1 << 16))) {}
  ~KernelRaces() override { FreeDevice(at_); }

  // Accesses `bytes` bytes at `byte` as thread `who` (block, thread, epoch).
  void Read(KernelThread who, int64_t byte, int64_t bytes = 4) {
    Touch(who, at_ + byte, bytes, false, false);
  }
  void Write(KernelThread who, int64_t byte, int64_t bytes = 4) {
    Touch(who, at_ + byte, bytes, true, false);
  }
  void Update(KernelThread who, int64_t byte) { Touch(who, at_ + byte, 4, true, true); }

  static std::vector<std::tuple<const void*, int64_t, bool, int64_t>> End() {
    int64_t moved = 0;
    std::vector<std::tuple<const void*, int64_t, bool, int64_t>> all;
    for (const Access& a : EndKernel(&moved)) all.emplace_back(a.at, a.bytes, a.writes, a.gap);
    return all;
  }

  char* const at_;
};

TEST_F(KernelRaces, GiveRangesAndBytesMoved) {
  BeginKernel("k", 0);
  for (int i = 0; i < 10; ++i) Read({0, i, 0}, 4 * i);
  for (int i = 0; i < 10; ++i) Read({0, i, 0}, 4 * i);
  for (int i = 0; i < 6; ++i) Write({0, i, 0}, 4 * i);
  Write({1, 0, 0}, 4095, 3);
  Update({0, 0, 0}, 100);
  Update({1, 0, 0}, 100);
  int64_t moved = 0;
  const auto accesses = EndKernel(&moved);
  EXPECT_EQ(moved, 40 + 24 + 3 + 8);
  ASSERT_EQ(accesses.size(), 4u);
  std::set<std::tuple<const void*, int64_t, bool>> ranges;
  for (const Access& a : accesses) ranges.insert({a.at, a.bytes, a.writes});
  EXPECT_TRUE(ranges.count({at_, 24, true}));
  EXPECT_TRUE(ranges.count({at_ + 24, 16, false}));
  EXPECT_TRUE(ranges.count({at_ + 100, 4, true}));
  EXPECT_TRUE(ranges.count({at_ + 4095, 3, true}));
}

TEST_F(KernelRaces, StartOverWithEachKernel) {
  BeginKernel("k", 0);
  Write({0, 0, 0}, 0);
  EXPECT_EQ(End().size(), 1u);
  BeginKernel("k", 0);
  EXPECT_EQ(End().size(), 0u);
  BeginKernel("k", 0);
  Write({7, 7, 0}, 0);
  EXPECT_EQ(End().size(), 1u);
}

TEST_F(KernelRaces, AreFoundBetweenThreadsWithoutABarrier) {
  BeginKernel("k", 0);
  Write({0, 1, 0}, 0);
  EXPECT_EXIT(Read({0, 2, 0}, 3, 1), kFault,
              "double: block-race: k: thread 2 of block 0 reads block .* at byte 3, and no barrier "
              "orders this after thread 1 of block 0; in this kernel the byte was written before");
  EXPECT_EXIT(Write({0, 2, 0}, 0), kFault, "double: block-race: ");
  EXPECT_EXIT(Update({0, 2, 0}, 0), kFault, "double: block-race: ");
  EXPECT_EXIT(Read({1, 1, 1}, 0), kFault, "double: block-race: ");
  Read({0, 2, 1}, 0);
  Read({0, 1, 1}, 0);
  EXPECT_EXIT(Write({0, 1, 1}, 0), kFault, "byte was read and written before");
  Write({0, 1, 2}, 0);
  Update({1, 1, 2}, 8);
  Update({2, 1, 2}, 8);
  EXPECT_EXIT(Read({2, 1, 2}, 8), kFault, "double: block-race: ");
  Write({0, 4, 2}, 20, 1);
  Write({0, 5, 2}, 21, 1);
  End();
}

TEST_F(KernelRaces, CheckBounds) {
  char* const small = static_cast<char*>(AllocateDevice(0, 100));
  BeginKernel("k", 0);
  Touch({3, 4, 0}, small + 96, 4, false, false);
  EXPECT_EXIT(Touch({3, 4, 0}, small + 97, 4, true, false), kFault,
              "double: bounds: k: thread 4 of block 3 writes 4 bytes at block .* at byte 97");
  EXPECT_EXIT(Touch({3, 4, 0}, small + 100, 1, false, false), kFault,
              "double: bounds: .* reads 1 bytes at 0 bytes behind the end of block");
  EXPECT_EXIT(Read({0, 0, 0}, -4), kFault, "double: bounds: ");
  int host = 0;
  Touch({3, 4, 0}, &host, 4, true, false);
  EXPECT_EQ(End().size(), 1u);
  FreeDevice(small);
}

TEST_F(KernelRaces, CheckWhichDevicesAKernelReaches) {
  char* const pinned = static_cast<char*>(AllocatePinned(64));
  BeginKernel("k", 1);
  Touch({0, 0, 0}, pinned, 4, true, false);
  EXPECT_EXIT(Read({0, 0, 0}, 0), kFault, "double: peer: k: thread 0 of block 0 on GPU 1 reads bl");
  SetPeerAccess(1, 0, true);
  Read({0, 0, 0}, 0);
  SetPeerAccess(1, 0, false);
  int64_t moved = 0;
  EXPECT_EQ(EndKernel(&moved).size(), 2u);
  EXPECT_EQ(moved, 4);  // pinned memory does not count as device memory
  FreePinned(pinned);
}

TEST_F(KernelRaces, MergeManyRangesToOnesWithGaps) {
  char* const large = static_cast<char*>(AllocateDevice(0, 1 << 20));
  for (const int stride : {2, 8, 100}) {
    BeginKernel("k", 0);
    for (int i = 0; i + 4 < 1 << 20; i += stride) {
      Touch({i, 0, 0}, large + i, 1, i % (2 * stride) == 0, false);
    }
    Read({0, 0, 0}, 0);
    Read({0, 0, 0}, 1000);
    int64_t moved = 0;
    const auto accesses = EndKernel(&moved);
    EXPECT_EQ(moved, ((1 << 20) - 5) / stride + 1 + 8);
    EXPECT_LE(accesses.size(), 2 * 4096u + 2);
    int64_t covered = 0;
    for (const Access& a : accesses) {
      CheckInside(a.at, a.bytes, "an access");
      if (static_cast<const char*>(a.at) < large + (1 << 20) && a.at >= large) {
        covered += a.bytes;
        EXPECT_TRUE(a.bytes == 1 || a.gap == 2 * stride - 1) << a.bytes << " " << a.gap;
      } else {
        EXPECT_EQ(a.gap, 0);
      }
    }
    EXPECT_GT(covered, (1 << 20) / 100);
  }
  FreeDevice(large);
}

TEST_F(KernelRaces, TakeOneKernelAtATime) {
  BeginKernel("k", 0);
  EXPECT_EXIT(BeginKernel("l", 0), kFault, "double: kernel: l begins while k runs");
  End();
  Touch({0, 0, 0}, at_, 4, true, false);
}

// Makes random accesses from threads of two blocks. A fault must occur exactly if a list of all
// accesses to each byte contains a race.
TEST_F(KernelRaces, AreThoseOfAPlainModel) {
  constexpr int kBytes = 6;
  struct Seen {
    KernelThread who;
    bool writes, atomic;
  };
  int raced_seeds = 0;
  for (int seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % below); };
    const int writes_of_100 = draw(60), atomics_of_100 = draw(100), one_block = draw(3);
    std::vector<Seen> seen[kBytes];
    int64_t epochs[2] = {};
    bool raced = false;
    BeginKernel("k", 0);
    for (int step = 0; step < 40 && !raced; ++step) {
      const int block = one_block > 0 ? 0 : draw(2);
      if (draw(3) == 0) ++epochs[block];
      const Seen now = {
          {block, draw(3), epochs[block]}, draw(100) < writes_of_100, draw(100) < atomics_of_100};
      const int from = draw(kBytes), size = 1 + draw(kBytes - from);
      for (int i = from; i < from + size; ++i) {
        for (const Seen& s : seen[i]) {
          const bool same_block = s.who.block == now.who.block;
          raced |= (s.writes || now.writes) && !(s.atomic && now.atomic) &&
                   // Atomic loads are never part of a race.
                   !(s.atomic && !s.writes) && !(now.atomic && !now.writes) &&
                   !(same_block && s.who.epoch != now.who.epoch) &&
                   !(same_block && s.who.thread == now.who.thread);
        }
        seen[i].push_back(now);
      }
      const auto touch = [&] { Touch(now.who, at_ + from, size, now.writes, now.atomic); };
      if (raced) {
        ++raced_seeds;
        EXPECT_EXIT(touch(), kFault, "double: block-race: ") << seed;
      } else {
        touch();
      }
    }
    End();
  }
  EXPECT_GT(raced_seeds, 100);
  EXPECT_LT(raced_seeds, 390);
}

}  // namespace
}  // namespace doppio::gpu_double
