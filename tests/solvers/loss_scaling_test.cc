// Tests that a scaled loss gives the same training run, and that a run whose gradients overflow
// skips updates until the scale fits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/solvers/param_store_case.h"
#include "tests/solvers/trainer_case.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Returns a net with two weighted losses, one of which another layer reads, a shared weight, and
// dropout.
std::string TwoLosses() {
  return R"(name: "two"
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 5 dim: 9 } shape { dim: 5 dim: 3 }
                               data_filler { type: "gaussian" std: 1 }
                               data_filler { type: "uniform" min: -1 max: 1 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "x" top: "h0" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 9 weight_filler { type: "xavier" } } }
    layer { name: "tanh" type: "TanH" bottom: "h0" top: "h1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "h1" top: "h2" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 9 weight_filler { type: "xavier" } } }
    layer { name: "drop" type: "Dropout" bottom: "h2" top: "h2" }
    layer { name: "out" type: "InnerProduct" bottom: "h2" top: "out"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "abs" type: "AbsVal" bottom: "h1" top: "a" loss_weight: 0.03 }
    layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "y" top: "loss" }
    layer { name: "power" type: "Power" bottom: "loss" top: "p" loss_weight: 0.7 power_param { power: 2 shift: 1 } })";
}

LossScaling Fixed(float scale) {
  LossScaling scaling;
  scaling.scale = scale;
  return scaling;
}

LossScaling Dynamic(float scale, int patience = 2000, float least = 1) {
  LossScaling scaling = Fixed(scale);
  scaling.dynamic = true;
  scaling.patience = patience;
  scaling.min_scale = least;
  scaling.max_scale = std::ldexp(1.0f, 127);
  return scaling;
}

TrainerOptions With(const LossScaling& scaling) {
  TrainerOptions options;
  options.loss_scaling = scaling;
  return options;
}

struct Training {
  std::vector<double> losses;
  std::string model;
  std::vector<PlainBlob> history;
  TrainResult result;
};

Training Train(TrainerCase* c, TrainerOptions options) {
  Training run;
  options.on_iteration = [&](const Progress& p) { run.losses.push_back(p.loss); };
  auto trainer = c->Make(options);
  run.result = trainer->Solve();
  run.model = ReadFile(run.result.model_file);
  run.history = ReadHistory(trainer->update(), trainer->params().device());
  return run;
}

float FirstHistory(Trainer* trainer) {
  return ReadHistory(trainer->update(), trainer->params().device())[0].data[0];
}

void ExpectSame(const Training& a, const Training& b, const std::string& what) {
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_TRUE(a.model == b.model) << what << ": other weights";
  ASSERT_EQ(a.history.size(), b.history.size());
  for (size_t i = 0; i < a.history.size(); ++i)
    EXPECT_EQ(a.history[i].data, b.history[i].data) << what << ", " << i;
}

TEST_ON_DEVICES(LossScaling, OfAPowerOfTwoChangesNoDigit) {
  for (const std::string rule : {"type: 'SGD' momentum: 0.9", "type: 'Adam' momentum: 0.9"}) {
    for (const std::string more : {"", "iter_size: 2", "clip_gradients: 0.1",
                                   "iter_size: 2 clip_gradients: 0.1", "debug_info: true"}) {
      const std::string what = rule + " " + more;
      TrainerCase c(TwoLosses(),
                    what + " base_lr: 0.05 lr_policy: 'fixed' weight_decay: 0.01 max_iter: 5",
                    TestDevice());
      const Training plain = Train(&c, {});
      EXPECT_EQ(plain.result.loss_scale, std::nullopt);
      for (const LossScaling& scaling :
           {Fixed(1024), Fixed(0.25), Dynamic(65536), Dynamic(65536, 2)}) {
        const Training scaled = Train(&c, With(scaling));
        ExpectSame(plain, scaled, what + ", " + std::to_string(scaling.scale));
        EXPECT_EQ(scaled.result.loss_scale, scaling.patience == 2 ? 4 * 65536 : scaling.scale);
        EXPECT_EQ(scaled.result.updates_skipped, 0);
      }
    }
  }
}

TEST(LossScaling, ShowsGradientsAsWithoutIt) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1 debug_info: true");
  LogLines log;
  c.Make(With(Fixed(4096)))->Solve();
  EXPECT_EQ(log.Count("[Backward] Layer loss, bottom blob w diff: 1"), 1);
  EXPECT_EQ(log.Count("[Backward] Layer ip, param blob 0 diff: 1"), 1);
}

// Returns a net whose weight w starts at 1 and whose gradient is 4 w, which overflows a float at
// the scales 2^127 and 2^126.
std::string FourSquares() {
  std::string net = SquareNet();
  return net.replace(net.find("top: \"loss\""), 11, "top: \"loss\" loss_weight: 4");
}

// The learning rate halves after two iterations.
constexpr const char* kStep =
    "base_lr: 0.25 lr_policy: 'step' gamma: 0.5 stepsize: 2 momentum: 0.5 max_iter: 4 display: 1 ";

TEST_ON_DEVICES(LossScaling, SkipsUpdatesUntilTheScaleFits) {
  for (const std::string more : {"", "iter_size: 2", "clip_gradients: 100"}) {
    TrainerCase c(FourSquares(), kStep + more, TestDevice());
    auto trainer = c.Make(With(Dynamic(std::ldexp(1.0f, 127))));
    const int skips = more == "iter_size: 2" ? 3 : 2;  // the sum of two passes overflows once more
    LogLines log;
    for (int i = 0; i < skips; ++i) {
      trainer->ForwardBackward();
      trainer->ApplyUpdate();
      EXPECT_EQ(FirstWeight(trainer.get()), 1) << more;
      EXPECT_EQ(FirstHistory(trainer.get()), 0) << more;
      EXPECT_EQ(trainer->iteration(), i + 1);
    }
    EXPECT_EQ(
        log.Count(
            "Iteration 1: gradients are not finite at loss scale 8.50705917e+37; update skipped, "
            "scale now 4.25352959e+37"),
        1)
        << more;
    // Skipped updates count as iterations: the third iteration has rate 0.125, and 0.125 * 4 =
    // 0.5 is subtracted.
    trainer->ForwardBackward();
    trainer->ApplyUpdate();
    EXPECT_EQ(FirstWeight(trainer.get()), 0.5f) << more;
    EXPECT_EQ(FirstHistory(trainer.get()), 0.5f) << more;
    EXPECT_EQ(trainer->parts().update.scaler().skipped(), skips);
    EXPECT_EQ(log.Count("update skipped"), skips);
  }
}

TEST(LossScaling, ReportsTheResult) {
  TrainerCase c(FourSquares(), kStep);
  LogLines log;
  const TrainResult result = c.Make(With(Dynamic(std::ldexp(1.0f, 127))))->Solve();
  EXPECT_EQ(result.iteration, 4);
  EXPECT_EQ(result.updates_skipped, 2);
  EXPECT_EQ(result.loss_scale, std::ldexp(1.0f, 125));
  EXPECT_EQ(log.Count("finite"), 2) << "the loss and the weights always were";
}

TEST(LossScaling, ClipsAsWithoutIt) {
  TrainerCase c(FourSquares(), std::string(kStep) + "clip_gradients: 1");
  LogLines log;
  c.Make(With(Dynamic(std::ldexp(1.0f, 127))))->Solve();
  EXPECT_EQ(
      log.Count("Gradient clipping: scaling down gradients (L2 norm 4 > 1) by scale factor 0.25"),
      1);
}

TEST_ON_DEVICES(LossScaling, GivesUpAtTheSmallestScale) {
  const float least = std::ldexp(1.0f, 126);
  TrainerCase c(FourSquares(), kStep, TestDevice());
  LogLines log;
  const TrainResult result = c.Make(With(Dynamic(2 * least, 2000, least)))->Solve();
  EXPECT_EQ(result.updates_skipped, 1);
  EXPECT_EQ(log.Count("update skipped"), 1);
  EXPECT_EQ(log.Count("Iteration 1: gradients are not finite even at the smallest loss scale, "
                      "8.50705917e+37, so"),
            1);
  EXPECT_EQ(log.Count("at the smallest loss scale"), 1);
  EXPECT_EQ(log.Count("Iteration 1: the weights of layer 'ip' are no longer finite"), 1);
}

TEST_ON_DEVICES(LossScaling, StopsWhereItDoesNotExplainNumbersThatAreNotFinite) {
  const float least = std::ldexp(1.0f, 126);
  const auto solve = [&](float first, float smallest) {
    TrainerCase c(FourSquares(), kStep, TestDevice());
    TrainerOptions options = With(Dynamic(first, 2000, smallest));
    options.stop_at_nonfinite = true;
    return c.Make(options)->Solve();
  };
  EXPECT_EQ(solve(2 * least, 1).updates_skipped, 2) << "skipped, and the loss scale is found";
  const Error e = Thrown([&] { solve(2 * least, least); });
  EXPECT_EQ(e.code(), ExitCode::kNonFinite);
  EXPECT_NE(e.message().find("iteration 1: after the update layer 'ip'"), std::string::npos)
      << e.message();
}

TEST(LossScaling, LetsUpdatesRunDuringBackwardUnlessItMaySkipThem) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_TRUE(c.Make()->params().arenas().gradients_share_memory());
  EXPECT_TRUE(c.Make(With(Fixed(64)))->params().arenas().gradients_share_memory());
  EXPECT_FALSE(c.Make(With(Dynamic(64)))->params().arenas().gradients_share_memory());
}

TEST(LossScaling, ComesFromTheNetUnlessTheCallerKnowsBetter) {
  TrainerCase c("global_grad_scale: 128 global_grad_scale_adaptive: true " + SquareNet(),
                "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_EQ(c.Make()->parts().update.scaler().scale(), 128);
  EXPECT_TRUE(c.Make()->parts().update.scaler().dynamic());
  EXPECT_EQ(c.Make(With(Fixed(2)))->parts().update.scaler().scale(), 2);
  EXPECT_FALSE(c.Make(With(Fixed(2)))->parts().update.scaler().dynamic());
  TrainerCase without(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_TRUE(without.Make()->parts().update.scaler().scaling().off());
}

// The scale doubles every second update, so overflows occur before and after the interruption.
TEST(LossScaling, GoesOnWhereItStoodWhenResumed) {
  for (const std::string more : {"type: 'SGD' momentum: 0.5 ",
                                 "type: 'Adam' momentum: 0.5 iter_size: 2 clip_gradients: 1 "}) {
    const std::string solver =
        more + "base_lr: 0.01 lr_policy: 'fixed' max_iter: 16 average_loss: 3";
    TrainerCase whole(TwoLosses(), solver), parts(TwoLosses(), solver);
    TrainerOptions options = With(Dynamic(std::ldexp(1.0f, 127), 2));
    const Training all = Train(&whole, options);
    ASSERT_GE(all.result.updates_skipped, 4);
    for (int stop : {5, 6, 7}) {
      options.poll = [stop, polls = 0]() mutable {
        return ++polls == stop ? Request::kStop : Request::kNone;
      };
      options.resume.clear();
      const Training first = Train(&parts, options);
      ASSERT_EQ(first.result.iteration, stop);
      ASSERT_GE(first.result.updates_skipped, 1);
      ASSERT_LT(first.result.updates_skipped, all.result.updates_skipped);
      options.poll = nullptr;
      options.resume = first.result.state_file;
      const Training second = Train(&parts, options);
      EXPECT_TRUE(all.model == second.model) << more << stop;
      EXPECT_EQ(all.result.loss_scale, second.result.loss_scale);
      EXPECT_EQ(all.result.updates_skipped, second.result.updates_skipped);
      EXPECT_EQ(all.result.smoothed_loss, second.result.smoothed_loss);
      SolverState a, b;
      ASSERT_TRUE(a.ParseFromString(ReadFile(whole.State(16))));
      ASSERT_TRUE(b.ParseFromString(ReadFile(parts.State(16))));
      EXPECT_TRUE(a.run_state().has_loss_scale());
      EXPECT_EQ(a.run_state().SerializeAsString(), b.run_state().SerializeAsString());
    }
  }
}

TEST(LossScaling, StartsOverFromAStateWithoutIt) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 2");
  TrainerOptions options = With(Dynamic(64));
  options.resume = c.Make()->Solve().state_file;
  EXPECT_EQ(c.Make(options)->parts().update.scaler().scale(), 64);
}

}  // namespace
}  // namespace doppio
