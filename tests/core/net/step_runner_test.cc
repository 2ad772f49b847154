// Tests that steps that are the same in every pass can be recorded and replayed as one, with the
// same results as step by step.
#include "core/net/run/step_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/base/random.h"
#include "core/net/contract/communicator.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// Dropout differs from pass to pass, so it splits forward and backward into two stretches each.
constexpr char kDropout[] =
    "layer { name: 'dropout' type: 'Dropout' bottom: 'tanh' top: 'tanh' }\n";
std::string NetWith(const std::string& dropout) {
  return "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
         "  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }\n"
         "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param {\n"
         "  num_output: 6 weight_filler { type: 'gaussian' std: 0.5 } } }\n"
         "layer { name: 'tanh' type: 'TanH' bottom: 'a' top: 'tanh' }\n" +
         dropout +
         "layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'tanh' top: 'sigmoid' }\n"
         "layer { name: 'b' type: 'InnerProduct' bottom: 'sigmoid' top: 'b' inner_product_param {\n"
         "  num_output: 2 weight_filler { type: 'gaussian' std: 0.5 } } }\n"
         "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'b' bottom: 'y' top: 'loss' }\n";
}

class CountedPasses {
 public:
  CountedPasses(bool records, const std::string& net) : device_(TestGpu()) {
    device_->settings.records = records;
    PlanOptions options;
    options.device = device_.get();
    options.backward = true;
    store_ = std::make_unique<ParamStore>(device_.get(), DType::kFloat32, 5);
    net_ = std::make_unique<Net>(GraphFromText(net), options, store_.get());
  }
  int recordings() const { return net_->passes().running().recordings(); }
  void WatchSums(SumsInStream* to) { net_->pass().sums = to; }

  // Runs one pass with its own inputs. Returns the loss and the gradients.
  std::vector<float> Pass(uint64_t number, bool accumulate, GradientSink* sink = nullptr) {
    const Random random(11, number);
    for (const char* blob : {"x", "y"}) {
      const Tensor input = net_->Blob(blob);
      std::vector<float> values(static_cast<size_t>(input.count()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = random.Normal(blob[0], i);
      device_->CopyFromHost(input.raw, values.data(), input.bytes());
    }
    std::vector<float> numbers = {static_cast<float>(net_->Forward())};
    net_->Backward(accumulate, sink);
    const Tensor gradients = store_->arenas().grads();
    numbers.resize(1 + static_cast<size_t>(gradients.count()));
    device_->CopyToHost(numbers.data() + 1, gradients.raw, gradients.bytes());
    return numbers;
  }

  // Overwrites the start of each gradient with NaN, which no pass computes.
  void Spoil() {
    for (const Param& param : store_->params()) {
      const float nan = NAN;
      device_->CopyFromHost(param.grad.raw, &nan, sizeof nan);
    }
  }
  bool Written(int param) {
    const Tensor gradient = store_->params()[static_cast<size_t>(param)].grad;
    float first = 0;
    device_->CopyToHost(&first, gradient.raw, sizeof first);
    return !std::isnan(first);
  }
  int params() const { return static_cast<int>(store_->params().size()); }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<ParamStore> store_;
  std::unique_ptr<Net> net_;
};

TEST_ON_GPU(StepRunner, GivesTheNumbersOfStepByStep) {
  CountedPasses recorded(true, NetWith(kDropout)), plain(false, NetWith(kDropout));
  for (uint64_t pass = 0; pass < 6; ++pass) {
    const bool accumulate = pass % 3 == 2;
    EXPECT_EQ(recorded.Pass(pass, accumulate), plain.Pass(pass, accumulate)) << "pass " << pass;
    EXPECT_EQ(plain.recordings(), 0);
    // Forward and backward have two stretches each, before and after Dropout. A stretch is recorded
    // when it runs for the second time. A backward that adds to the gradients has its own
    // recordings.
    EXPECT_EQ(recorded.recordings(), pass == 0 ? 0 : pass < 5 ? 4 : 6) << "pass " << pass;
  }
}

// Records which gradients are written when one is reported ready, as seen by an exchange that runs
// beside backward.
class Watcher : public GradientSink {
 public:
  Watcher(CountedPasses* passes, bool begins) : passes_(passes), begins_(begins) {}
  void Ready(int param) override {
    int written = 0;
    for (int p = 0; p < passes_->params(); ++p) written += passes_->Written(p);
    seen[param] = written;
  }
  bool BeginsAt(int) const override { return begins_; }
  std::map<int, int> seen;

 private:
  CountedPasses* passes_;
  const bool begins_;
};

TEST_ON_GPU(StepRunner, SendsNothingOnItsWayBehindAGradientThatBeginsAnExchange) {
  const std::string net = NetWith("");
  CountedPasses recorded(true, net), unhurried(true, net), plain(false, net);
  Watcher exchange(&recorded, true), onlooker(&unhurried, false);
  for (uint64_t pass = 0; pass < 6; ++pass) {
    const std::vector<float> numbers = plain.Pass(pass, false);
    recorded.Spoil();
    unhurried.Spoil();
    // A recording made without a sink is made again for the sink.
    EXPECT_EQ(recorded.Pass(pass, false, pass < 3 ? nullptr : &exchange), numbers) << pass;
    EXPECT_EQ(unhurried.Pass(pass, false, &onlooker), numbers) << pass;
  }
  EXPECT_EQ(unhurried.recordings(), 2);
  EXPECT_EQ(onlooker.seen, (std::map<int, int>{{0, 4}, {1, 4}, {2, 4}, {3, 4}}));
  // Backward now has two recordings: one up to the gradients of b's weights and bias, and one from
  // there to the gradients of a.
  EXPECT_EQ(recorded.recordings(), 3);
  EXPECT_EQ(exchange.seen, (std::map<int, int>{{0, 4}, {1, 4}, {2, 2}, {3, 2}}));
}

// Records which passes are announced as setting something up, forward and backward in turn.
class FreshPasses : public SumsInStream {
 public:
  void AllReduce(void*, int64_t, DType) override {}
  void Begin(bool fresh) override { seen.push_back(fresh); }
  std::vector<bool> seen;
};

TEST_ON_GPU(StepRunner, SaysWhichPassesSetThingsUp) {
  for (const bool records : {true, false}) {
    CountedPasses passes(records, NetWith(kDropout));
    Watcher exchange(&passes, true);
    FreshPasses fresh;
    passes.WatchSums(&fresh);
    for (uint64_t pass = 0; pass < 3; ++pass) passes.Pass(pass, false);
    for (uint64_t pass = 3; pass < 6; ++pass) passes.Pass(pass, true);
    for (uint64_t pass = 6; pass < 8; ++pass) passes.Pass(pass, false, &exchange);
    // A backward that adds to gradients is set up separately, and so is one that is split for an
    // exchange.
    const std::vector<bool> expected =
        records ? std::vector<bool>{true,  true, true,  true,  false, false, false, true,
                                    false, true, false, false, false, true,  false, false}
                : std::vector<bool>{true,  true,  false, false, false, false, false, true,
                                    false, false, false, false, false, true,  false, false};
    EXPECT_EQ(fresh.seen, expected) << records;
  }
}

}  // namespace
}  // namespace doppio
