// Tests that recomputing activations and offloading them to host memory change only the memory use.
// Losses, gradients, running statistics and updated parameters must be bitwise identical to those
// of a plain run.
#include <gtest/gtest.h>

#include <functional>

#include "core/base/random.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

struct Way {
  MemorySaving saving;
  // If true, each parameter is updated as soon as its gradient is complete. If false, iter_size is
  // 2.
  bool early = false;
  bool fusion = true;
  std::string engine;
};

struct Outcome {
  std::vector<double> losses;
  // For each iteration, all parameters concatenated.
  std::vector<std::vector<double>> gradients, values;
  MemoryUse memory;
  MemorySaved saved;
  std::vector<std::string> notes;
};

// Applies a step of plain gradient descent to the stored elements, so that it works in any layout.
void Descend(Device* device, const Param& param) {
  const size_t count = static_cast<size_t>(param.value.stored());
  std::vector<float> value(count), grad(count);
  device->CopyToHost(value.data(), param.value.raw, param.value.bytes());
  device->CopyToHost(grad.data(), param.grad.raw, param.grad.bytes());
  for (size_t i = 0; i < count; ++i) value[i] -= 0.01F * grad[i];
  device->CopyFromHost(param.value.raw, value.data(), param.value.bytes());
}

// Records each gradient when it is complete, and applies it.
class Descent : public GradientSink {
 public:
  explicit Descent(ParamStore* store) : store_(*store) {}
  void Ready(int param) override {
    const Param& p = store_.params()[static_cast<size_t>(param)];
    const std::vector<double> grad = ReadPlain(p.grad, store_.device());
    gradients.insert(gradients.end(), grad.begin(), grad.end());
    Descend(store_.device(), p);
  }
  std::vector<double> gradients;

 private:
  ParamStore& store_;
};

void Spoil(const Buffer& buffer, Device* device) {
  if (buffer.bytes() == 0) return;
  const std::vector<char> noise(static_cast<size_t>(buffer.bytes()), static_cast<char>(0xff));
  device->CopyFromHost(buffer.data(), noise.data(), buffer.bytes());
}

// Writes new inputs for each pass. The second top holds labels.
void FillInputs(Net* net, Device* device, uint64_t pass) {
  const std::vector<Tensor>& inputs = net->plan().tensors[0].tops;
  const doppio::Random random(1, 2 + pass);
  for (size_t top = 0; top < inputs.size(); ++top) {
    std::vector<double> values(static_cast<size_t>(inputs[top].count()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = top == 1 ? random.Below(3, 1, i) : random.Normal(top, i);
    }
    WritePlain(values, inputs[top], device);
  }
}

Outcome Run(const std::string& text, const Way& way, Device* device) {
  PlanOptions options;
  options.device = device;
  options.backward = true;
  options.engine = way.engine;
  options.fusion = way.fusion;
  options.saving = way.saving;
  options.accumulate = !way.early;
  options.gradients_consumed = way.early;
  ParamStore store(device, DType::kFloat32, 5);
  Net net(GraphFromText(text), options, &store);
  // Fills the memory with noise, so that a read of uninitialised memory shows.
  for (const LossTerm& term : net.plan().losses) EXPECT_FALSE(term.gradient) << "lies in the arena";
  Spoil(net.plan().arena, device);
  Spoil(net.plan().scratch, device);

  Outcome outcome;
  outcome.memory = net.plan().memory;
  outcome.saved = net.plan().saved;
  outcome.notes = net.plan().notes;
  Descent descent(&store);
  uint64_t passes = 0;
  for (int iteration = 0; iteration < 3; ++iteration) {
    descent.gradients.clear();
    for (int part = 0; part < (way.early ? 1 : 2); ++part) {
      FillInputs(&net, device, passes++);
      outcome.losses.push_back(net.Forward());
      net.Backward(part > 0, way.early ? &descent : nullptr);
    }
    if (!way.early) {
      for (int p : store.learnable()) {
        if (store.param(p).gradient) descent.Ready(p);
      }
    }
    outcome.gradients.push_back(descent.gradients);
    outcome.values.emplace_back();
    for (const Param& param : store.params()) {
      const std::vector<double> values = ReadPlain(param.value, device);
      outcome.values.back().insert(outcome.values.back().end(), values.begin(), values.end());
    }
  }
  return outcome;
}

void ExpectEqual(const Outcome& plain, const Outcome& saved) {
  EXPECT_EQ(plain.losses, saved.losses);
  for (double loss : saved.losses) EXPECT_TRUE(std::isfinite(loss));
  for (size_t i = 0; i < plain.gradients.size(); ++i) {
    EXPECT_EQ(plain.gradients[i], saved.gradients[i]) << "gradients of iteration " << i;
    EXPECT_EQ(plain.values[i], saved.values[i]) << "parameters after iteration " << i;
  }
}

MemorySaving Segments(int segments) {
  MemorySaving saving;
  saving.segments = segments;
  return saving;
}
MemorySaving Light() {
  MemorySaving saving = Segments(0);
  saving.light = true;
  return saving;
}
MemorySaving Offloading(int segments = 1) {
  MemorySaving saving;
  saving.segments = segments;
  saving.activation_bytes = 0;
  saving.min_offloaded_bytes = 0;
  return saving;
}

const std::vector<std::pair<std::string, MemorySaving>>& Savings() {
  static const auto* savings = new std::vector<std::pair<std::string, MemorySaving>>{
      {"2 segments", Segments(2)},     {"5 segments", Segments(5)},
      {"100 segments", Segments(100)}, {"as many as best", Segments(0)},
      {"light layers", Light()},       {"offload", Offloading()},
      {"both", Offloading(3)}};
  return *savings;
}

struct Wanted {
  bool less_by_recompute = true;  // memory saved with the best number of segments
  bool less_by_offload = true;
};

// Compares runs with every way to save memory, on every device and engine.
void ExpectSame(const std::string& text, const Wanted& wanted = {}) {
  struct Place {
    std::string name;
    std::function<std::unique_ptr<Device>()> make;
    std::string engine;
  };
  for (const Place& place :
       {Place{"CPU", &MakeCpuDevice, ""}, Place{"CPU, plain kernels", &MakeCpuDevice, "reference"},
        Place{"GPU", &TestGpu, ""}}) {
    const std::unique_ptr<Device> device = place.make();
    if (device == nullptr) continue;  // no GPU
    for (const bool fusion : {true, false}) {
      Way way{{}, !fusion, fusion, place.engine};
      const Outcome plain = Run(text, way, device.get());
      EXPECT_EQ(plain.saved.segments, 1);
      EXPECT_EQ(plain.saved.plain_activations, plain.memory.activations);
      for (const auto& [name, saving] : Savings()) {
        SCOPED_TRACE(place.name + (fusion ? ", iter_size 2, " : ", early updates, unfused, ") +
                     name);
        way.saving = saving;
        const Outcome saved = Run(text, way, device.get());
        ExpectEqual(plain, saved);
        EXPECT_EQ(saved.saved.plain_activations, plain.memory.activations);
        if (name == "as many as best" && wanted.less_by_recompute) {
          EXPECT_LT(saved.memory.activations, plain.memory.activations);
          EXPECT_GT(saved.saved.layers_recomputed, 0);
        }
        if (saving.segments == 1 && wanted.less_by_offload) {
          EXPECT_LT(saved.memory.activations, plain.memory.activations);
          EXPECT_GT(saved.saved.host_bytes, 0);
        }
      }
    }
  }
}

constexpr char kSavingInput[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
    "  input_param { shape { dim: 2 dim: 3 dim: 12 dim: 12 } shape { dim: 2 } } }\n";

std::string Layer(const std::string& name, const std::string& type,
                  const std::vector<std::string>& bottoms, const std::string& top,
                  const std::string& more = "") {
  std::string text = "layer { name: '" + name + "' type: '" + type + "'";
  for (const std::string& bottom : bottoms) text += " bottom: '" + bottom + "'";
  return text + " top: '" + top + "' " + more + " }\n";
}

std::string Conv(const std::string& name, const std::string& bottom, int outputs, int kernel = 3,
                 const std::string& more = "", const std::string& top = "") {
  return Layer(
      name, "Convolution", {bottom}, top.empty() ? name : top,
      more + " convolution_param { num_output: " + std::to_string(outputs) +
          " kernel_size: " + std::to_string(kernel) + " pad: " + std::to_string(kernel / 2) +
          " weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -0.1 max: 0.1 } }");
}

std::string InnerProduct(const std::string& name, const std::string& bottom, int outputs,
                         const std::string& more = "") {
  return Layer(name, "InnerProduct", {bottom}, name,
               more + " inner_product_param { num_output: " + std::to_string(outputs) +
                   " weight_filler { type: 'xavier' } }");
}

std::string InPlace(const std::string& type, const std::string& blob,
                    const std::string& more = "") {
  return Layer(type + "_" + blob, type, {blob}, blob, more);
}

std::string MaxPool(const std::string& name, const std::string& bottom, int stride) {
  return Layer(name, "Pooling", {bottom}, name,
               "pooling_param { kernel_size: 3 pad: 1 stride: " + std::to_string(stride) + " }");
}

std::string Classifier(const std::string& bottom, const std::string& name = "",
                       const std::string& more = "") {
  return InnerProduct("ip" + name, bottom, 3) +
         Layer("loss" + name, "SoftmaxWithLoss", {"ip" + name, "y"}, "loss" + name, more);
}

TEST(MemorySaving, KeepsTheNumbersOfConvolutionsAndPoolings) {
  ExpectSame(kSavingInput + Conv("c1", "x", 8, 5) + MaxPool("p1", "c1", 2) +
                 Conv("c2", "p1", 12, 5) + MaxPool("p2", "c2", 2) + Conv("c3", "p2", 12) +
                 Layer("n3", "LRN", {"c3"}, "n3") + InnerProduct("ip1", "n3", 20) +
                 InPlace("ReLU", "ip1") + Classifier("ip1"),
             {false, false});  // too few layers to save memory
}

std::string Inception(const std::string& n, const std::string& bottom) {
  return Conv(n + "a", bottom, 4, 1) + InPlace("ReLU", n + "a") + Conv(n + "b1", bottom, 5, 1) +
         InPlace("ReLU", n + "b1") + Conv(n + "b", n + "b1", 6) + InPlace("ReLU", n + "b") +
         MaxPool(n + "p", bottom, 1) + Conv(n + "c", n + "p", 3, 1) + InPlace("ReLU", n + "c") +
         Layer(n, "Concat", {n + "a", n + "b", n + "c", bottom}, n);
}

TEST(MemorySaving, KeepsTheNumbersOfBranchesAndLossesOnTheWay) {
  ExpectSame(
      kSavingInput + Conv("c1", "x", 6) + Inception("i1", "c1") + Inception("i2", "i1") +
      MaxPool("p", "i2", 2) + Inception("i3", "p") + Classifier("i2", "2", "loss_weight: 0.3") +
      Inception("i4", "i3") +
      Layer("last", "Pooling", {"i4"}, "last", "pooling_param { pool: AVE global_pooling: true }") +
      Classifier("last"));
}

std::string Norm(const std::string& blob) {
  return InPlace("BatchNorm", blob) + InPlace("Scale", blob, "scale_param { bias_term: true }");
}

std::string Residual(const std::string& n, const std::string& bottom) {
  return Conv(n + "a", bottom, 8, 1) + Norm(n + "a") + InPlace("ReLU", n + "a") +
         Conv(n + "b", n + "a", 8) + Norm(n + "b") + Layer(n, "Eltwise", {n + "b", bottom}, n) +
         InPlace("ReLU", n);
}

TEST(MemorySaving, KeepsTheNumbersAndStatisticsOfResidualBlocks) {
  std::string text = kSavingInput + Conv("c1", "x", 8) + Norm("c1") + InPlace("ReLU", "c1");
  std::string bottom = "c1";
  for (int i = 1; i <= 6; ++i) {
    text += Residual("r" + std::to_string(i), bottom);
    bottom = "r" + std::to_string(i);
  }
  ExpectSame(text + Classifier(bottom));
}

TEST(MemorySaving, DrawsTheSameRandomNumbersAgain) {
  std::string text = kSavingInput + InnerProduct("h0", "x", 200);
  std::string bottom = "h0";
  for (int i = 1; i <= 8; ++i) {
    const std::string h = "h" + std::to_string(i);
    text += InPlace("Sigmoid", bottom) +
            InPlace("Dropout", bottom, "dropout_param { dropout_ratio: 0.4 }") +
            InnerProduct(h, bottom, 200);
    bottom = h;
  }
  ExpectSame(text + Classifier(bottom));
}

TEST(MemorySaving, KeepsTheNumbersOfSharedWeightsAndViews) {
  const std::string share = "param { name: 'w' } param { name: 'b' }";
  std::string text = kSavingInput + Conv("c0", "x", 6);
  std::string bottom = "c0";
  for (int i = 1; i <= 6; ++i) {
    const std::string n = std::to_string(i);
    text +=
        Conv("c" + n, bottom, 6, 3, share) +
        Layer("s" + n, "Split", {"c" + n}, "s" + n, "top: 'u" + n + "'") +
        Layer("t" + n, "TanH", {"s" + n}, "t" + n) +
        Layer("q" + n, "Power", {"u" + n}, "q" + n, "power_param { power: 2 scale: 0.3 }") +
        Layer("e" + n, "Eltwise", {"t" + n, "q" + n}, "e" + n, "eltwise_param { operation: PROD }");
    bottom = "e" + n;
  }
  ExpectSame(text + Layer("flat", "Flatten", {bottom}, "flat") + Classifier("flat"));
}

TEST(MemorySaving, KeepsTheNumbersOfTwinNets) {
  std::string text =
      "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y' top: 'z' input_param {"
      " shape { dim: 2 dim: 3 dim: 12 dim: 12 } shape { dim: 2 } shape { dim: 2 dim: 3 dim: 12 "
      "dim: 12 } } }\n";
  for (const std::string& twin : {std::string("x"), std::string("z")}) {
    std::string bottom = twin;
    for (int i = 1; i <= 4; ++i) {
      const std::string n = std::to_string(i), top = twin + n;
      text += Conv("c" + top, bottom, 6, 3,
                   "param { name: 'w" + n + "' } param { name: 'b" + n + "' }", top) +
              InPlace("BatchNorm", top,
                      "param { name: 'm" + n + "' lr_mult: 0 } param { name: 'v" + n +
                          "' lr_mult: 0 } param { name: 'k" + n + "' lr_mult: 0 }") +
              InPlace("ReLU", top);
      bottom = top;
    }
  }
  ExpectSame(text + Layer("far", "EuclideanLoss", {"x4", "z4"}, "far") + Classifier("x4"));
}

TEST(MemorySaving, DoesNotComputeAgainWithWeightsThatHaveBeenUpdated) {
  // Layer 'a' shares its weights with 'c'. The weights learn only from 'c', because no gradient
  // reaches 'a'. When backward has passed 'c', the weights are updated, but 'b' still reads the
  // output that 'a' computed with the old ones.
  const std::string share = "param { name: 'w' } param { name: 'v' }";
  ExpectSame(kSavingInput + Conv("c0", "x", 6) + Conv("a", "c0", 6, 3, share) +
                 Conv("b", "a", 6, 3, "propagate_down: false") + Layer("t", "TanH", {"b"}, "t") +
                 Conv("c", "t", 6, 3, share) + Layer("u", "TanH", {"c"}, "u") + Conv("d", "u", 6) +
                 Classifier("d"),
             {false, false});
}

std::string Deep(int layers) {
  std::string text = kSavingInput + Conv("c0", "x", 8), bottom = "c0";
  for (int i = 1; i <= layers; ++i) {
    const std::string n = std::to_string(i);
    text += Layer("t" + n, "TanH", {bottom}, "t" + n) + Conv("c" + n, "t" + n, 8);
    bottom = "c" + n;
  }
  return text + Classifier(bottom);
}

Outcome PlanOf(const std::string& text, const MemorySaving& saving) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  return Run(text, {saving, false, true, "reference"}, device.get());
}

TEST(MemorySaving, NeedsAboutTheRootOfADeepNet) {
  // The net has 64 values of equal size. With 8 segments, 8 values cross segments and 8 are alive
  // within one. With gradients, labels and the rest, this is less than 24 values.
  const Outcome plain = PlanOf(Deep(64), {}), saved = PlanOf(Deep(64), Segments(0));
  const int64_t value = 2 * 8 * 12 * 12 * 4;
  EXPECT_GE(plain.memory.activations, 64 * value);
  EXPECT_LE(saved.memory.activations, 24 * value);
  // Recomputation repeats forward at most once, for all but the last segment.
  EXPECT_GT(saved.saved.work_recomputed, 0.5);
  EXPECT_LT(saved.saved.work_recomputed, 1);
}

TEST(MemorySaving, DropsNothingOfTheLastSegment) {
  // With two segments, the second half of the net is not recomputed: 17 of 33 layers, counted in
  // pairs, and the classifier.
  const Outcome saved = PlanOf(Deep(32), Segments(2));
  EXPECT_EQ(saved.saved.segments, 2);
  EXPECT_NEAR(saved.saved.work_recomputed, 0.5, 0.06);
}

TEST(MemorySaving, OffloadsNoMoreThanTheGivenMemoryAsksFor) {
  const std::string text = Deep(32);
  const Outcome plain = PlanOf(text, {}), least = PlanOf(text, Offloading());
  MemorySaving saving = Offloading();
  saving.activation_bytes = (plain.memory.activations + least.memory.activations) / 2;
  const Outcome half = PlanOf(text, saving);
  ExpectEqual(plain, half);
  EXPECT_LE(half.memory.activations, saving.activation_bytes);
  EXPECT_LT(half.saved.host_bytes, least.saved.host_bytes);
  EXPECT_GT(half.saved.host_bytes, 0);
  saving.activation_bytes = plain.memory.activations;
  EXPECT_EQ(PlanOf(text, saving).saved.host_bytes, 0) << "enough for all";
}

TEST(MemorySaving, SaysWhenTheGivenMemoryIsTooSmall) {
  MemorySaving saving = Offloading();
  saving.activation_bytes = 1;
  try {
    PlanOf(Deep(32), saving);
    FAIL() << "accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(
        std::string(e.message()).find("even with all possible offloading, more than the 0 MiB"),
        std::string::npos)
        << e.message();
  }
}

TEST(MemorySaving, LeavesSmallValuesWhereTheyAre) {
  MemorySaving saving = Offloading();
  saving.min_offloaded_bytes = MemorySaving().min_offloaded_bytes;
  const Outcome saved = PlanOf(Deep(32), saving);
  EXPECT_EQ(saved.saved.host_bytes, 0);
  ASSERT_EQ(saved.notes.size(), 1u);
  EXPECT_NE(saved.notes[0].find("no activation is large and unused"), std::string::npos);
}

TEST(MemorySaving, SaysWhereComputingAgainSavesNothing) {
  const Outcome saved = PlanOf(kSavingInput + Classifier("x"), Segments(0));
  EXPECT_EQ(saved.saved.layers_recomputed, 0);
  ASSERT_EQ(saved.notes.size(), 1u);
  EXPECT_NE(saved.notes[0].find("would save no memory"), std::string::npos);
}

}  // namespace
}  // namespace doppio
