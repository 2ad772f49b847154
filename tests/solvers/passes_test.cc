// Tests the passes of an iteration and the way back, without a trainer.
#include "solvers/trainer/passes.h"

#include <gtest/gtest.h>

#include "tests/solvers/fake_world.h"
#include "tests/solvers/trainer_case.h"

namespace doppio {
namespace {

// A net with random batches, which BatchNorm counts.
class PassesTest : public testing::Test {
 protected:
  // Returns the mean loss of all passes of an iteration.
  double LossOf(Passes* passes) {
    passes->Begin();
    for (int pass = 0; pass < run_.schedule.iter_size; ++pass) {
      passes->Forward();
      passes->Backward(pass, nullptr);
    }
    return passes->MeanLoss();
  }

  // Returns the factor of BatchNorm's sums, which grows with each forward.
  float Count() const {
    return ReadTensor(net_.params().params()[2].value, run_.options.plan.device).data[0];
  }

  TrainerCase case_{R"(
    layer { name: "in" type: "DummyData" top: "x" top: "zero"
            dummy_data_param { shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 }
                               data_filler { type: "gaussian" std: 3 } data_filler { value: 0 } } }
    layer { name: "bn" type: "BatchNorm" bottom: "x" top: "n" }
    layer { name: "sum" type: "Eltwise" bottom: "n" bottom: "x" top: "s" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "s" bottom: "zero" top: "loss" })",
                    "base_lr: 0.5 lr_policy: 'fixed' max_iter: 9 iter_size: 3 average_loss: 2"};
  TrainingRun run_ = case_.Run();
  TrainingNets nets_{&run_};
  Net& net_ = nets_.train();
};

TEST_F(PassesTest, GoBackToTheBeginningOfTheIteration) {
  Passes passes(&run_, &net_);
  double sum = 0;
  for (int pass = 0; pass < 3; ++pass) sum += net_.Forward();
  net_.pass().step = 0;
  const double loss = LossOf(&passes);
  EXPECT_DOUBLE_EQ(loss, sum / 3);
  passes.GoBack();
  EXPECT_EQ(run_.stage, TrainingRun::Stage::kWhole);
  EXPECT_EQ(net_.pass().step, 0u);
  EXPECT_EQ(LossOf(&passes), loss);
  EXPECT_NE(LossOf(&passes), loss);
}

TEST_F(PassesTest, GoBackToTheStatisticsIfRanksMayChange) {
  run_.options.elastic = ElasticRule();
  Passes passes(&run_, &net_);
  LossOf(&passes);
  const float before = Count();
  LossOf(&passes);
  EXPECT_GT(Count(), before);
  passes.GoBack();
  EXPECT_EQ(Count(), before);
}

TEST_F(PassesTest, SmoothTheMeanOfTheRanks) {
  const FakeWorld world(2, {5});
  run_.options.world = &world;
  Passes passes(&run_, &net_);
  for (double loss : {1.0, 3.0, 7.0}) passes.AddLoss(&loss);
  EXPECT_EQ(passes.smoothed().value(), 5);  // of 4 and 6, the last two
}

}  // namespace
}  // namespace doppio
