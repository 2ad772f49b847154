// What is the same in every pass may be recorded and repeated as one; the numbers stay those of
// step by step.
#include "core/net/step_runner.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/net/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// Dropout differs from pass to pass: it cuts both directions into stretches.
constexpr char kNet[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
    "  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }\n"
    "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: "
    "6\n"
    "  weight_filler { type: 'gaussian' std: 0.5 } } }\n"
    "layer { name: 'tanh' type: 'TanH' bottom: 'a' top: 'tanh' }\n"
    "layer { name: 'dropout' type: 'Dropout' bottom: 'tanh' top: 'dropout' }\n"
    "layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'dropout' top: 'sigmoid' }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'sigmoid' top: 'b' inner_product_param { "
    "num_output: 2\n"
    "  weight_filler { type: 'gaussian' std: 0.5 } } }\n"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'b' bottom: 'y' top: 'loss' }\n";

class Passes {
 public:
  explicit Passes(bool records) : device_(TestGpu()) {
    if (device_ == nullptr) return;
    device_->set_records(records);
    PlanOptions options;
    options.device = device_.get();
    options.backward = true;
    store_ = std::make_unique<ParamStore>(device_.get(), DType::kFloat32, 5);
    net_ = std::make_unique<Net>(GraphFromText(kNet), options, store_.get());
  }
  bool possible() const { return device_ != nullptr; }
  int recordings() const { return net_->recordings(); }

  // Loss and gradients of one pass with inputs of its own.
  std::vector<float> Pass(uint64_t number, bool accumulate) {
    const Random random(11, number);
    for (const char* blob : {"x", "y"}) {
      const Tensor input = net_->Blob(blob);
      std::vector<float> values(static_cast<size_t>(input.count()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = random.Normal(blob[0], i);
      device_->CopyFromHost(input.raw, values.data(), input.bytes());
    }
    std::vector<float> numbers = {static_cast<float>(net_->Forward())};
    net_->Backward(accumulate);
    const Tensor gradients = store_->grads();
    numbers.resize(1 + static_cast<size_t>(gradients.count()));
    device_->CopyToHost(numbers.data() + 1, gradients.raw, gradients.bytes());
    return numbers;
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<ParamStore> store_;
  std::unique_ptr<Net> net_;
};

TEST(StepRunner, GivesTheNumbersOfStepByStep) {
  Passes recorded(true), plain(false);
  if (!recorded.possible()) GTEST_SKIP() << "built without CUDA";
  for (uint64_t pass = 0; pass < 6; ++pass) {
    const bool accumulate = pass % 3 == 2;
    EXPECT_EQ(recorded.Pass(pass, accumulate), plain.Pass(pass, accumulate)) << "pass " << pass;
    EXPECT_EQ(plain.recordings(), 0);
    // Forward and backward have two stretches each, before and after Dropout. They are recorded
    // when they come for the second time; adding to gradients is another backward than replacing
    // them.
    EXPECT_EQ(recorded.recordings(), pass == 0 ? 0 : pass < 5 ? 4 : 6) << "pass " << pass;
  }
}

}  // namespace
}  // namespace doppio
