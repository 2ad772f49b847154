// Tests which settings of a run determine its id.
#include <gtest/gtest.h>

#include "tests/solvers/trainer_case.h"

namespace doppio {
namespace {

uint64_t IdOf(const std::string& solver, TrainerOptions options = {}) {
  return TrainerCase(SquareNet(), solver).Make(options)->parts().run.run_id;
}

TEST(RunId, DiffersBetweenRunsWithOtherNumbers) {
  const uint64_t id = IdOf("base_lr: 0.1 lr_policy: 'fixed' max_iter: 4 snapshot: 2");
  EXPECT_EQ(IdOf("base_lr: 0.1 lr_policy: 'fixed' max_iter: 9 display: 1"), id);
  EXPECT_NE(IdOf("base_lr: 0.2 lr_policy: 'fixed' max_iter: 4 snapshot: 2"), id);
  EXPECT_NE(IdOf("base_lr: 0.1 lr_policy: 'fixed' max_iter: 4 iter_size: 2"), id);
  TrainerOptions options;
  options.seed = 7;  // same as in the solver file
  EXPECT_EQ(IdOf("base_lr: 0.1 lr_policy: 'fixed' max_iter: 4", options), id);
  options.seed = 8;
  EXPECT_NE(IdOf("base_lr: 0.1 lr_policy: 'fixed' max_iter: 4", options), id);
}

TEST(RunId, IsThatOfTheResumedRun) {
  TrainerCase c(SquareNet(), "lr_policy: 'fixed' max_iter: 4 snapshot: 2");
  const auto first = c.Make({}, "base_lr: 0.1");
  first->Solve();
  TrainerOptions options;
  options.resume = c.State(2);
  EXPECT_EQ(c.Make(options, "base_lr: 0.2")->parts().run.run_id, first->parts().run.run_id);
}

}  // namespace
}  // namespace doppio
