#include "tests/double/machine/races.h"

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/double/machine/memory.h"
#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

class Races : public ::testing::Test {
 protected:
  Races() : at_(static_cast<char*>(AllocateDevice(0, 1 << 16))) {}
  ~Races() override { FreeDevice(at_); }

  // Runs a step of `actor` after the steps in `before`. Returns a clock that includes the step.
  Clock Step(int actor, const Clock& before, std::vector<Access> accesses) {
    ++steps_;
    NoteAccesses("step " + std::to_string(steps_), actor, steps_, before, accesses);
    Clock after = before;
    after.Set(actor, steps_);
    return after;
  }

  char* const at_;
  int64_t steps_ = 0;
};

TEST_F(Races, FindUnorderedAccessesWithBothPlaces) {
  const int a = NewActor("stream 1"), b = NewActor("stream 2");
  Step(a, Clock(), {{at_, 100, true}});
  EXPECT_EXIT(
      Step(b, Clock(), {{at_ + 99, 4, false}}), kFault,
      "double: race: step 2 on stream 2 \\(step 2\\) reads 1 bytes at block [0-9]+ of GPU 0 "
      "\\(65536 bytes\\) at byte 99, and nothing orders this after step 1 on stream 1 "
      "\\(step 1\\), which writes them\n");
  EXPECT_EXIT(Step(b, Clock(), {{at_, 1, true}}), kFault, "double: race: .* writes 1 bytes");
  Step(b, Clock(), {{at_ + 100, 4, true}});
}

TEST_F(Races, AllowReadersAndFindTheWriterThatMissesOne) {
  const int a = NewActor("a"), b = NewActor("b"), c = NewActor("c");
  Clock after_a = Step(a, Clock(), {{at_, 100, false}});
  const Clock after_b = Step(b, Clock(), {{at_, 100, false}});
  EXPECT_EXIT(Step(c, after_a, {{at_, 100, true}}), kFault, "after step 2 on b .* which reads");
  after_a.Join(after_b);
  Step(c, after_a, {{at_, 100, true}});
}

TEST_F(Races, AreNoneWithinAnActor) {
  const int a = NewActor("a"), b = NewActor("b");
  Step(a, Clock(), {{at_, 100, true}, {at_, 50, false}});
  Step(a, Clock(), {{at_, 100, false}, {at_, 100, true}});
  EXPECT_EXIT(Step(b, Clock(), {{at_, 100, false}}), kFault, "double: race: ");
}

TEST_F(Races, NameAnActorAsItWasAtTheStep) {
  const int a = NewActor("a"), b = NewActor("b");
  Step(a, Clock(), {{at_, 4, true}});
  RenameActor(a, "c");
  Step(a, Clock(), {{at_ + 4, 4, true}});
  EXPECT_EXIT(Step(b, Clock(), {{at_, 4, true}}), kFault, "after step 1 on a ");
  EXPECT_EXIT(Step(b, Clock(), {{at_ + 4, 4, true}}), kFault, "after step 2 on c ");
}

TEST_F(Races, AreForgottenWhenMemoryIsFreed) {
  const int a = NewActor("a"), b = NewActor("b");
  Step(a, Clock(), {{at_, 100, true}});
  ForgetAccesses(at_ + 10, 10);
  Step(b, Clock(), {{at_ + 10, 10, true}});
  EXPECT_EXIT(Step(b, Clock(), {{at_ + 9, 1, true}}), kFault, "double: race: ");
  EXPECT_EXIT(Step(b, Clock(), {{at_ + 20, 1, true}}), kFault, "double: race: ");
}

TEST_F(Races, LeaveOutPageableMemory) {
  const int a = NewActor("a"), b = NewActor("b");
  int host = 0;
  Step(a, Clock(), {{&host, 4, true}, {at_, 4, true}});
  Step(b, Clock(), {{&host, 4, true}});
  EXPECT_EXIT(Step(b, Clock(), {{at_, 4, true}}), kFault, "double: race: ");
}

TEST_F(Races, OfAccessesWithGapsAreReportedOnlyWhereProved) {
  const int a = NewActor("a"), b = NewActor("b");
  Step(a, Clock(), {{at_, 1000, true, 8}});
  Step(b, Clock(), {{at_ + 4, 8, true}});
  Step(b, Clock(), {{at_, 1000, true, 4}});
  EXPECT_EXIT(Step(b, Clock(), {{at_ + 500, 9, false}}), kFault, "double: race: ");
}

// Makes random steps of three actors. A fault must occur exactly if a list of all accesses to each
// byte contains a race. With gaps, faults may occur only there.
TEST_F(Races, AreThoseOfAPlainModel) {
  constexpr int kActors = 3, kBytes = 24;
  for (int seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % below); };
    const bool gaps = seed % 3 == 2;
    char* const at = static_cast<char*>(AllocateDevice(0, kBytes));
    int actors[kActors];
    for (int& actor : actors) actor = NewActor("actor");
    struct Seen {
      int actor;
      int64_t time;
      bool writes;
    };
    std::vector<Seen> seen[kBytes];
    Clock clocks[kActors];
    bool raced = false;
    for (int64_t step = 1; step <= 60 && !raced; ++step) {
      const int i = draw(kActors);
      for (int j = 0; j < kActors; ++j) {
        if (draw(10) < 7) clocks[i].Join(clocks[j]);
      }
      std::vector<Access> accesses;
      std::set<std::pair<int, bool>> bytes;
      for (int n = draw(3); n >= 0; --n) {
        const int from = draw(kBytes), size = 1 + draw(kBytes - from), gap = gaps ? draw(3) : 0;
        const bool writes = draw(3) == 0;
        accesses.push_back({at + from, size, writes, gap});
        for (int k = from; k < from + size; k += gap + 1) bytes.insert({k, writes});
      }
      for (const auto& [byte, writes] : bytes) {
        for (const Seen& s : seen[byte]) {
          raced |= s.actor != actors[i] && (s.writes || writes) && clocks[i].Of(s.actor) < s.time;
        }
      }
      for (const auto& [byte, writes] : bytes) seen[byte].push_back({actors[i], step, writes});
      const auto note = [&] { NoteAccesses("a step", actors[i], step, clocks[i], accesses); };
      if (!raced) {
        note();
      } else if (!gaps) {
        EXPECT_EXIT(note(), kFault, "double: race: ") << seed;
      }
      clocks[i].Set(actors[i], step);
    }
    FreeDevice(at);
  }
}

}  // namespace
}  // namespace doppio::gpu_double
