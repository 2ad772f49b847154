// Tests updates whose norm and condition the device computes by itself. The results must be bitwise
// identical to updates decided on the host, and no update may happen if the condition is false.
#include <gtest/gtest.h>

#include <cmath>

#include "solvers/update/rule_check.h"
#include "tests/solvers/param_store_case.h"
#include "tests/solvers/trainer_case.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::vector<ParamCase> Params() {
  return {{Shape{70001}, 1}, {Shape{3, 7}, 2, 0.5f}, {Shape{6}, 3, 1, 1, true, false}};
}

// A parameter store with a different gradient for each element, and its update.
class Case {
 public:
  explicit Case(const std::string& solver)
      : store_(Params(), DType::kFloat32, TestGpu()), update(MakeUpdate(solver, &store_.store())) {
    update.scale().set_loss_scale(64);
    SetGradients(64);
  }

  void SetGradients(double factor) {
    for (int64_t i = 0; i < 70001; i += 7000) store_.SetGradient(0, i, factor * std::sin(i));
    for (int64_t i = 0; i < 21; ++i) store_.SetGradient(1, i, factor * std::cos(i));
  }
  void SetGradient(double value) { store_.SetGradient(0, 41000, value); }

  Device* device() { return store_.store().device(); }

  std::vector<std::vector<float>> All() {
    std::vector<std::vector<float>> all;
    for (const Param& param : store_.store().params())
      all.push_back(ReadTensor(param.value, store_.store().device()).data);
    for (const PlainBlob& blob : ReadHistory(update, device())) all.push_back(blob.data);
    return all;
  }

 private:
  ParamStoreCase store_;

 public:
  Update update;
};

std::vector<std::string> Solvers() {
  std::vector<std::string> solvers;
  for (const std::string& rule : RuleNames()) {
    if (rule == "Muon") continue;  // on the CPU only
    for (const char* clip : {"", " clip_gradients: 0.5", " clip_gradients: 1000"})
      solvers.push_back("type: '" + rule + "' weight_decay: 0.01 delta: 0.1" + clip);
  }
  solvers.push_back("momentum: 0.9 larc: true clip_gradients: 0.5");
  return solvers;
}

class DecidedUpdateOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
  }
};

TEST_F(DecidedUpdateOnGpu, HasTheBitsOfOneThatTheHostDecided) {
  for (const std::string& solver : Solvers()) {
    Case host(solver), device(solver);
    ASSERT_TRUE(device.update.decides());
    for (int i = 0; i < 3; ++i) {
      for (Case* one : {&host, &device}) one->SetGradients(64 * (i + 1));
      EXPECT_TRUE(host.update.GradientsFinite());
      host.update.Run(0.1, i, 3);
      device.update.RunDecided(0.1, i, 3, {true, true, false});
      EXPECT_TRUE(device.update.ReadDecision());
      EXPECT_EQ(device.update.scale().norm(), host.update.scale().norm()) << solver;
      EXPECT_EQ(device.update.scale().clip_scale(), host.update.scale().clip_scale()) << solver;
      EXPECT_EQ(device.All(), host.All()) << solver;
    }
  }
}

TEST_F(DecidedUpdateOnGpu, DoesNotHappenWhereGradientsAreNotFinite) {
  for (const std::string& solver : Solvers()) {
    Case c(solver);
    const auto before = c.All();
    for (double value : {std::nan(""), HUGE_VAL}) {
      c.SetGradient(value);
      c.update.RunDecided(0.1, 0, 1, {true, true, false});
      EXPECT_FALSE(c.update.ReadDecision());
      EXPECT_EQ(c.All(), before) << solver;
      EXPECT_EQ(c.update.passes().NonFiniteParam(), std::nullopt);
    }
    c.SetGradient(0);
    c.update.RunDecided(0.1, 0, 1, {true, true, false});
    EXPECT_TRUE(c.update.ReadDecision());
    EXPECT_NE(c.All(), before) << solver;
  }
}

// This happens at the smallest loss scale.
TEST_F(DecidedUpdateOnGpu, HappensWhereGradientsAreOnlyWatched) {
  for (const std::string& solver : Solvers()) {
    Case c(solver);
    c.SetGradient(std::nan(""));
    c.update.RunDecided(0.1, 0, 1, {true, false, false});
    EXPECT_FALSE(c.update.ReadDecision());
    c.device()->Synchronize();  // waits for the update
    EXPECT_EQ(c.update.passes().NonFiniteParam(), 0) << solver;
  }
}

TEST_F(DecidedUpdateOnGpu, DoesNotHappenWhereALossIsNotFinite) {
  for (const int64_t count : {1, 40000}) {
    const TensorSpec spec{Shape{count}, DType::kFloat32, Layout()};
    Case c("clip_gradients: 1");
    Device* const gpu = c.device();
    const Buffer memory(gpu, spec.bytes());
    const Tensor loss(spec, memory.data());
    for (const bool second : {false, true}) {
      const auto before = c.All();
      std::vector<float> values(static_cast<size_t>(count), 1);
      const auto watch = [&](float last, bool first) {
        values.back() = last;
        gpu->CopyFromHost(memory.data(), values.data(), spec.bytes());
        c.update.WatchLosses({loss}, first);
        gpu->Synchronize();
      };
      // The loss is NaN in the first or in the second pass of an iteration.
      watch(second ? 1 : NAN, true);
      watch(second ? NAN : 1, false);
      c.update.RunDecided(0.1, 0, 2, {false, false, true});
      c.update.ReadDecision();
      EXPECT_EQ(c.All(), before);
      watch(1, true);
      c.update.RunDecided(0.1, 0, 2, {false, false, true});
      EXPECT_NE(c.All(), before);
    }
  }
}

// The weight grows until the loss, half its square, is infinite.
TEST_F(DecidedUpdateOnGpu, LeavesTheWeightsOfALossThatIsNotFinite) {
  const std::string solver = "base_lr: 1e9 lr_policy: 'fixed' max_iter: 100 display: 1";
  std::vector<std::string> errors;
  std::vector<float> weights;
  for (const bool on_gpu : {false, true}) {
    TrainerCase c(SquareNet(), solver, on_gpu ? TestGpu() : MakeCpuDevice());
    TrainerOptions options;
    options.stop_at_nonfinite = true;
    auto trainer = c.Make(options);
    const Error e = Thrown([&] { trainer->Solve(); });
    EXPECT_EQ(e.code(), ExitCode::kNonFinite);
    errors.push_back(e.message().substr(0, e.message().find(", /")));  // without the location
    weights.push_back(FirstWeight(trainer.get()));
    EXPECT_TRUE(std::isfinite(weights.back()));
  }
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_EQ(weights[1], weights[0]);
}

// The host does not wait for the update before it checks the weights, but no snapshot may contain
// non-finite weights.
TEST_F(DecidedUpdateOnGpu, LosesWeightsBeforeTheNextSnapshot) {
  const std::string solver =
      "base_lr: 3e38 weight_decay: 1 lr_policy: 'fixed' max_iter: 3 snapshot: 1";
  for (const bool on_gpu : {false, true}) {
    TrainerCase c(SquareNet(), solver, on_gpu ? TestGpu() : MakeCpuDevice());
    TrainerOptions options;
    options.stop_at_nonfinite = true;
    auto trainer = c.Make(options);
    const std::string text = Mistake([&] { trainer->Solve(); });
    EXPECT_NE(text.find("iteration 0: after the update layer 'ip'"), std::string::npos) << text;
    EXPECT_FALSE(FileExists(c.State(1)));
    EXPECT_FALSE(FileExists(c.Model(1)));
  }
}

TEST_F(DecidedUpdateOnGpu, LogsAsTheHostDoes) {
  const std::string solver =
      "base_lr: 0.25 lr_policy: 'fixed' max_iter: 4 display: 2 clip_gradients: 0.5";
  std::vector<std::vector<std::string>> lines;
  for (const bool on_gpu : {false, true}) {
    TrainerCase c(SquareNet(), solver, on_gpu ? TestGpu() : MakeCpuDevice());
    auto trainer = c.Make();
    LogLines log;
    trainer->Solve();
    lines.emplace_back();
    for (const std::string& line : log.lines) {
      for (const char* kind : {"lr = ", "Train net output", "Gradient clipping"}) {
        if (line.find(kind) != std::string::npos) lines.back().push_back(line);
      }
    }
  }
  EXPECT_EQ(lines[0].size(), 6u);
  EXPECT_EQ(lines[1], lines[0]);
}

}  // namespace
}  // namespace doppio
