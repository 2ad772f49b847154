// Tests that recomputing activations and offloading them to host memory change only the memory use.
// Losses, gradients, running statistics and updated parameters must be bitwise identical to those
// of a plain run.
#include "tests/core/net/memory_saving_case.h"

namespace doppio {
namespace {

MemorySaving Light() {
  MemorySaving saving = Segments(0);
  saving.light = true;
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

// Compares runs with every way to save memory, with every engine of the case's device.
void ExpectSame(const std::string& text, const Wanted& wanted = {}) {
  for (const char* engine : {"", "reference"}) {
    if (OnGpu() && *engine != '\0') continue;  // the reference kernels are the CPU's
    const std::unique_ptr<Device> device = TestDevice();
    for (const bool fusion : {true, false}) {
      SavingWay way{{}, !fusion, fusion, engine};
      const SavingOutcome plain = RunSaving(text, way, device.get());
      EXPECT_EQ(plain.saved.segments, 1);
      EXPECT_EQ(plain.saved.plain_activations, plain.memory.activations);
      for (const auto& [name, saving] : Savings()) {
        SCOPED_TRACE(device->name() + ", engine '" + engine + "'" +
                     (fusion ? ", iter_size 2, " : ", early updates, unfused, ") + name);
        way.saving = saving;
        const SavingOutcome saved = RunSaving(text, way, device.get());
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

std::string InPlace(const std::string& type, const std::string& blob,
                    const std::string& more = "") {
  return Layer(type + "_" + blob, type, {blob}, blob, more);
}

std::string MaxPool(const std::string& name, const std::string& bottom, int stride) {
  return Layer(name, "Pooling", {bottom}, name,
               "pooling_param { kernel_size: 3 pad: 1 stride: " + std::to_string(stride) + " }");
}

TEST_ON_DEVICES(MemorySaving, KeepsTheNumbersOfConvolutionsAndPoolings) {
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

TEST_ON_DEVICES(MemorySaving, KeepsTheNumbersOfBranchesAndLossesOnTheWay) {
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

TEST_ON_DEVICES(MemorySaving, KeepsTheNumbersAndStatisticsOfResidualBlocks) {
  std::string text = kSavingInput + Conv("c1", "x", 8) + Norm("c1") + InPlace("ReLU", "c1");
  std::string bottom = "c1";
  for (int i = 1; i <= 6; ++i) {
    text += Residual("r" + std::to_string(i), bottom);
    bottom = "r" + std::to_string(i);
  }
  ExpectSame(text + Classifier(bottom));
}

TEST_ON_DEVICES(MemorySaving, DrawsTheSameRandomNumbersAgain) {
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

TEST_ON_DEVICES(MemorySaving, KeepsTheNumbersOfSharedWeightsAndViews) {
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

TEST_ON_DEVICES(MemorySaving, KeepsTheNumbersOfTwinNets) {
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

TEST_ON_DEVICES(MemorySaving, DoesNotComputeAgainWithWeightsThatHaveBeenUpdated) {
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

}  // namespace
}  // namespace doppio
