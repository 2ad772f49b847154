// Trainings with layers that several devices compute, each for other micro-batches, and others that
// one device computes.
#include <gtest/gtest.h>

#include "core/net/plan/memory_need.h"
#include "tests/backends/stub/stub_device.h"
#include "tests/solvers/placed_case.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

constexpr char kReplicated[] = "conv*=cpu:0+cpu:1,fc*=cpu:1";
constexpr double kRounding = 1e-5;  // of the largest weight

// w = 1 at first, and x = 1: the output is w^2, the loss is w^4 / 2, and the gradient is 2 w^3.
// Both layers share w.
std::string FourthPowerNet() {
  return R"(name: "fourth"
    layer { name: "in" type: "DummyData" top: "x" top: "zero"
            dummy_data_param { shape { dim: 4 dim: 1 } shape { dim: 4 dim: 1 }
                               data_filler { value: 1 } data_filler { value: 0 } } }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" }
            inner_product_param { num_output: 1 bias_term: false weight_filler { value: 1 } } }
    layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" param { name: "w" }
            inner_product_param { num_output: 1 bias_term: false weight_filler { value: 1 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "b" bottom: "zero" top: "loss" })";
}

TEST(ReplicatedLayers, UpdateByHand) {
  for (int microbatches : {2, 4}) {
    const Halves halves("a=cpu:0+cpu:1,b=cpu:0+cpu:1,loss=cpu:1", microbatches);
    TrainerCase c(FourthPowerNet(), "base_lr: 0.1 lr_policy: 'fixed' max_iter: 2");
    const std::vector<float> w = WeightsAfter(c.Make(halves.options).get());
    // 1 - 0.1 * 2 = 0.8, then 0.8 - 0.1 * 2 * 0.8^3
    ASSERT_EQ(w.size(), 1u);
    EXPECT_NEAR(w[0], 0.6976, 1e-6) << microbatches;
  }
}

TEST(ReplicatedLayers, EqualOneBatchUpToRounding) {
  const std::string net = PlacedNet();
  for (const char* more : {"", "clip_gradients: 0.1", "iter_size: 2",
                           "iter_size: 2 clip_gradients: 0.1", "type: 'Nesterov'"}) {
    const std::vector<float> whole = OnOneDevice(net, more);
    for (int microbatches : {2, 4}) {
      EXPECT_LT(LargestDifference(OnHalves(net, kReplicated, microbatches, more), whole), kRounding)
          << more << " with " << microbatches << " micro-batches";
    }
  }
}

TEST(ReplicatedLayers, DropTheSameActivationsAsOneDevice) {
  const std::string net = PlacedNet();
  EXPECT_LT(
      LargestDifference(OnHalves(net, "fc7=cpu:1,loss=cpu:1,*=cpu:0+cpu:1", 4), OnOneDevice(net)),
      kRounding);
}

TEST(ReplicatedLayers, MayBeAnyLayersInAnyOrderOfDevices) {
  const std::string net = PlacedNet();
  const std::vector<float> whole = OnOneDevice(net);
  for (const char* place :
       {"conv*=cpu:1+cpu:0,fc*=cpu:0", "conv1=cpu:0,conv2=cpu:0+cpu:1,fc*=cpu:1",
        "conv*=cpu:0,fc*=cpu:0+cpu:1", "conv*=cpu:0+cpu:1,fc*=cpu:1+cpu:0",
        "conv1=cpu:0+cpu:1,conv2=cpu:1,fc6=cpu:0+cpu:1,fc7=cpu:0"})
    EXPECT_LT(LargestDifference(OnHalves(net, place, 4), whole), kRounding) << place;
}

TEST(ReplicatedLayers, GiveTheSameBitsInEveryRun) {
  for (const char* norm : {"LRN", "BatchNorm"}) {
    const std::string net = PlacedNet("8", norm);
    for (int microbatches : {2, 4}) {
      const std::vector<float> first = OnHalves(net, kReplicated, microbatches, "iter_size: 2");
      for (int run = 0; run < 3; ++run)
        EXPECT_EQ(OnHalves(net, kReplicated, microbatches, "iter_size: 2"), first) << norm;
    }
  }
}

TEST(ReplicatedLayers, ScaleTheLossWithoutEffect) {
  const std::vector<float> expected = OnHalves(PlacedNet(), kReplicated, 4);
  Halves halves(kReplicated, 4);
  halves.options.loss_scaling = LossScaling();
  halves.options.loss_scaling->scale = 1024;
  TrainerCase c(PlacedNet(), kPlacedSolver);
  EXPECT_EQ(WeightsAfter(c.Make(halves.options, "max_iter: 5").get()), expected);
}

TEST(ReplicatedLayers, ResumeWithTheSameBitsAndWithoutPlacement) {
  for (const char* norm : {"LRN", "BatchNorm"}) {
    const Halves halves(kReplicated, 4);
    TrainerCase whole(PlacedNet("8", norm), kPlacedSolver),
        parts(PlacedNet("8", norm), kPlacedSolver);
    const std::vector<float> expected =
        WeightsAfter(whole.Make(halves.options, "max_iter: 6").get());
    parts.Make(halves.options, "max_iter: 4")->Solve();
    TrainerOptions options = halves.options;
    options.resume = parts.State(4);
    parts.Make(options, "max_iter: 6")->Solve();
    EXPECT_EQ(ReadFile(parts.Model(6)), ReadFile(whole.Model(6))) << norm;
    const ThreadCount one(1);
    options = TrainerOptions();
    options.resume = parts.State(4);
    const std::vector<float> alone = WeightsAfter(parts.Make(options, "max_iter: 6").get());
    if (std::string(norm) == "LRN") {
      EXPECT_LT(LargestDifference(alone, expected), kRounding);
    }
  }
}

// Returns a parameter of layer `name` after 5 iterations on two halves of the CPU.
PlainBlob BlobOnHalves(const std::string& net, const std::string& place, int microbatches,
                       const std::string& layer, int index) {
  const Halves halves(place, microbatches);
  TrainerCase c(net, kPlacedSolver);
  const auto trainer = c.Make(halves.options, "max_iter: 5");
  trainer->Solve();
  for (const Param& param : trainer->params().params()) {
    if (param.layer == layer && param.index == index)
      return ReadTensor(param.value, trainer->params().device());
  }
  ADD_FAILURE() << "no parameter " << index << " of " << layer;
  return {};
}

TEST(ReplicatedLayers, KeepTheStatisticsOfTheFirstDevice) {
  const std::string net = PlacedNet("8", "BatchNorm");
  // Blob 2 is a sum over the passes of the first device, each of which first multiplies it by
  // 0.999.
  const auto passes = [](int count) { return (1 - std::pow(0.999, count)) / (1 - 0.999); };
  for (int microbatches : {2, 4}) {
    const PlainBlob weight = BlobOnHalves(net, kReplicated, microbatches, "norm1", 2);
    EXPECT_NEAR(weight.data[0], passes(5 * microbatches / 2), 1e-4);
  }
  const PlainBlob weight = BlobOnHalves(net, kConvFc, 4, "norm1", 2);
  EXPECT_NEAR(weight.data[0], passes(20), 1e-4);
}

TEST(ReplicatedLayers, KeepFrozenWeights) {
  std::string net = PlacedNet();
  const std::string conv1 = "name: \"conv1\" type: \"Convolution\"";
  net.replace(net.find(conv1), conv1.size(), conv1 + " param { lr_mult: 0 } param { lr_mult: 0 }");
  EXPECT_LT(LargestDifference(OnHalves(net, kReplicated, 2), OnOneDevice(net)), kRounding);
}

int64_t BytesOf(Trainer* trainer, const std::string& layers) {
  int64_t bytes = 0;
  for (const Param& param : trainer->params().params())
    bytes += param.layer.find(layers) == 0 ? param.value.bytes() : 0;
  return bytes;
}

TEST(ReplicatedLayers, CountTheMemoryOfReplicas) {
  const Halves halves(kReplicated, 2), alone(kConvFc, 2);
  TrainerCase c(PlacedNet("8", "BatchNorm"), kPlacedSolver);
  const auto trainer = c.Make(halves.options, "max_iter: 1");
  const MemoryUse& memory = trainer->train_net().plan().memory;
  const MemoryUse whole = c.Make(alone.options, "max_iter: 1")->train_net().plan().memory;
  EXPECT_EQ(memory.replica_grads, BytesOf(trainer.get(), "conv"));
  EXPECT_EQ(memory.param_grads, whole.param_grads + memory.replica_grads);
  // Devices with the host's memory share the weights, but not the statistics.
  EXPECT_EQ(memory.replica_params, BytesOf(trainer.get(), "norm"));
  EXPECT_EQ(memory.params, whole.params + memory.replica_params);
  EXPECT_EQ(memory.history, whole.history);
}

// Devices that share no memory, neither with each other nor with the host.
struct StubCase {
  explicit StubCase(const std::string& place, const std::string& norm = "LRN",
                    std::unique_ptr<StubDevice> second_device = std::make_unique<StubDevice>())
      : second(std::move(second_device)) {
    auto first = std::make_unique<StubDevice>();
    options.plan.engine = "reference";
    options.plan.fusion = false;
    options.net.place = ParsePlaceRules(place);
    options.plan.places = {{"gpu:0", first.get()}, {"gpu:1", second.get()}};
    trainings.emplace(
        PlacedNet("8", norm) + R"(
      layer { name: "accuracy" type: "Accuracy" bottom: "fc7" bottom: "label" top: "accuracy" include { phase: TEST } })",
        std::string(kPlacedSolver) + "max_iter: 4 test_iter: 1 test_interval: 2 snapshot: 2 ",
        std::move(first));
  }
  std::unique_ptr<StubDevice> second;
  TrainerOptions options;
  std::optional<TrainerCase> trainings;
};

TEST(ReplicatedLayers, EqualOneBatchOnDevicesWithTheirOwnMemory) {
  TrainerOptions options;
  options.plan.engine = "reference";
  options.plan.fusion = false;
  for (const char* more : {"", "iter_size: 2 clip_gradients: 0.1"}) {
    TrainerCase alone(PlacedNet(), std::string(kPlacedSolver) + "max_iter: 4");
    const std::vector<float> expected = WeightsAfter(alone.Make(options, more).get());
    for (const char* place : {"conv*=gpu:0+gpu:1,fc*=gpu:1", "conv*=gpu:1+gpu:0,fc*=gpu:0",
                              "conv*=gpu:0+gpu:1,fc*=gpu:0"}) {
      StubCase stubs(place);
      for (int microbatches : {2, 4}) {
        stubs.options.net.microbatches = microbatches;
        EXPECT_LT(LargestDifference(WeightsAfter(stubs.trainings->Make(stubs.options, more).get()),
                                    expected),
                  kRounding)
            << place << ", " << microbatches << " micro-batches, " << more;
      }
    }
  }
}

TEST(ReplicatedLayers, ResumeWithTheSameBitsOnDevicesWithTheirOwnMemory) {
  for (const char* norm : {"LRN", "BatchNorm"}) {
    StubCase stubs("conv*=gpu:0+gpu:1,fc*=gpu:1", norm);
    stubs.options.net.microbatches = 4;
    const std::vector<float> expected = WeightsAfter(stubs.trainings->Make(stubs.options).get());
    stubs.options.resume = stubs.trainings->State(2);
    EXPECT_EQ(WeightsAfter(stubs.trainings->Make(stubs.options).get()), expected) << norm;
  }
}

// A stub with little memory.
class SmallDevice : public StubDevice {
 public:
  int64_t free_bytes() override { return 1000; }
  std::string name() const override { return "small device"; }
};

TEST(ReplicatedLayers, NeedMemoryOnEachDevice) {
  StubCase stubs("conv*=gpu:0+gpu:1,fc*=gpu:0", "LRN", std::make_unique<SmallDevice>());
  stubs.options.net.microbatches = 4;
  try {
    stubs.trainings->Make(stubs.options);
    ADD_FAILURE() << "no error";
  } catch (const MemoryShortage& shortage) {
    EXPECT_NE(std::string(shortage.what()).find("small device"), std::string::npos)
        << shortage.what();
    // conv1 and conv2: 8 * (3 * 3 * 3 + 1) and 8 * (4 * 3 * 3 + 1) values, and as many gradients
    EXPECT_EQ(shortage.use().params, 4 * (8 * 28 + 8 * 37));
    EXPECT_EQ(shortage.use().param_grads, shortage.use().params);
    EXPECT_EQ(shortage.use().history, 0);
    EXPECT_GT(shortage.use().activations, 0);
  }
}

// Returns another GPU than TestGpu(), or the same one if the machine has no other.
std::unique_ptr<Device> OtherGpu() {
  const DeviceBackend* const backend = FindDeviceBackend();
  for (const DeviceInfo& gpu : backend->list()) {
    if (!gpu.unusable.empty() || gpu.pci_bus_id == TestGpu()->properties.pci_bus_id) continue;
    std::unique_ptr<Device> other = backend->make(gpu.index);
    other->settings.deterministic = true;
    return other;
  }
  return TestGpu();
}

TEST_ON_GPU(ReplicatedLayers, EqualOneBatchOnGpus) {
  const std::string solver =
      std::string(kPlacedSolver) + "max_iter: 4 iter_size: 2 clip_gradients: 1 ";
  TrainerCase alone(PlacedNet(), solver, TestGpu());
  const std::vector<float> expected = WeightsAfter(alone.Make().get());
  for (int microbatches : {2, 4}) {
    TrainerOptions options;
    options.net.place = ParsePlaceRules("conv*=gpu:0+gpu:1,fc*=gpu:1");
    options.net.microbatches = microbatches;
    const std::unique_ptr<Device> second = OtherGpu();
    std::unique_ptr<Device> first = TestGpu();
    options.plan.places = {{"gpu:0", first.get()}, {"gpu:1", second.get()}};
    TrainerCase c(PlacedNet(), solver, std::move(first));
    EXPECT_LT(LargestDifference(WeightsAfter(c.Make(options).get()), expected), kRounding);
  }
}

}  // namespace
}  // namespace doppio
