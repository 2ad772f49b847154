// Tests that the scores and predictions of a test do not depend on the number of ranks.
#include "parallel/world/thread_world.h"
#include "tests/solvers/score_case.h"

namespace doppio {
namespace {

TEST(WholeScores, AreThoseOfOneRank) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  for (const ScoredNet& net : AllScoredNets()) {
    const TestScores whole = c.Score(net, kScoreSamples, device.get());
    for (int ranks : {2, 3}) {
      for (int64_t batch : {1, 3, 8}) {
        std::vector<TestScores> scores(static_cast<size_t>(ranks));
        RunThreadWorld(ranks, {}, [&](World& world) {
          const std::unique_ptr<Device> own = MakeCpuDevice();
          scores[static_cast<size_t>(world.rank())] = c.Score(net, batch, own.get(), &world);
        });
        for (const TestScores& of_rank : scores) {
          ExpectScoresOfWhole(of_rank, whole, net, batch);
          ExpectSamePredictions(of_rank, whole, net);
        }
      }
    }
  }
}

}  // namespace
}  // namespace doppio
