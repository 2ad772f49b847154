// Tests that signals become requests, without losing or inventing any.
#include "tools/cli/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(Signals, AreReportedOnceAsTheirEffect) {
  SignalHandler handler({{SIGHUP, Request::kSnapshot}, {SIGUSR1, Request::kSnapshotStop}});
  EXPECT_EQ(handler.Poll(), Request::kNone);
  raise(SIGHUP);
  EXPECT_EQ(handler.Poll(), Request::kSnapshot);
  EXPECT_EQ(handler.Poll(), Request::kNone);
  raise(SIGUSR1);
  EXPECT_EQ(handler.Poll(), Request::kSnapshotStop);
}

TEST(Signals, OfTwoKindsAddUp) {
  SignalHandler handler({{SIGHUP, Request::kSnapshot}, {SIGINT, Request::kStop}});
  raise(SIGHUP);
  raise(SIGINT);
  EXPECT_EQ(handler.Poll(), Request::kSnapshotStop);
}

TEST(Signals, WithoutEffectAreSwallowed) {
  SignalHandler handler({{SIGINT, Request::kNone}});
  raise(SIGINT);
  raise(SIGINT);
  EXPECT_EQ(handler.Poll(), Request::kNone);
}

// Open MPI's mpirun sends SIGCONT and, a second later, SIGTERM. That SIGTERM is not a second
// request.
TEST(Signals, AreAnnouncedByTheLauncher) {
  SignalHandler handler({{SIGTERM, Request::kSnapshotStop}}, getpid());
  kill(getpid(), SIGCONT);
  EXPECT_EQ(handler.Poll(), Request::kSnapshotStop);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(handler.Poll(), Request::kSnapshotStop);
}

TEST(Signals, IgnoreThatAnotherProcessContinuesThisOne) {
  SignalHandler handler({{SIGTERM, Request::kSnapshotStop}}, getppid());
  kill(getpid(), SIGCONT);
  EXPECT_EQ(handler.Poll(), Request::kNone);
}

TEST(Signals, LetAProcessWriteToAClosedPipe) {
  SignalHandler handler({{SIGINT, Request::kStop}});
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
  EXPECT_EQ(handler.Poll(), Request::kNone);
}

TEST(SignalsDeathTest, ASecondInterruptQuitsAtOnce) {
  auto twice = [](int signal) {
    SignalHandler handler({{signal, Request::kStop}});
    raise(signal);
    raise(signal);
  };
  EXPECT_EXIT(twice(SIGINT), testing::ExitedWithCode(130), "");
  EXPECT_EXIT(twice(SIGTERM), testing::ExitedWithCode(143), "");
}

TEST(Signals, EffectsAreFourWords) {
  EXPECT_EQ(ParseEffect("sigint_effect", "snapshot_stop"), Request::kSnapshotStop);
  EXPECT_EQ(Mistake<UsageError>([] { ParseEffect("sigint_effect", "halt"); }),
            "--sigint_effect needs stop, snapshot, snapshot_stop or none; got 'halt'");
}

}  // namespace
}  // namespace doppio
