// What does not fit is refused before anything is allocated, with a batch that does fit.
#include "core/net/memory_need.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <string>

#include "core/net/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// The CPU, but for what it says is free.
class SmallDevice : public Device {
 public:
  explicit SmallDevice(int64_t free, DeviceKind kind = DeviceKind::kCpu)
      : free_(free), kind_(kind) {}
  DeviceKind kind() const override { return kind_; }
  std::string name() const override { return "small device"; }
  void* Allocate(int64_t bytes) override { return memory_->Allocate(bytes); }
  void Free(void* memory) noexcept override { memory_->Free(memory); }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyFromHost(to, from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyToHost(to, from, bytes);
  }
  void Zero(void* memory, int64_t bytes) override { memory_->Zero(memory, bytes); }
  void Synchronize() override {}
  int64_t bytes_in_use() const override { return memory_->bytes_in_use(); }
  int64_t peak_bytes() const override { return memory_->peak_bytes(); }
  int64_t free_bytes() override { return free_; }

 private:
  const int64_t free_;
  const DeviceKind kind_;
  const std::unique_ptr<Device> memory_ = MakeCpuDevice();
};

std::string NetOf(int64_t batch) {
  const std::string rows = "dim: " + std::to_string(batch);
  return "name: 'tiny'\n"
         "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
         "  input_param { shape { " +
         rows + " dim: 3 dim: 9 dim: 9 } shape { " + rows +
         " } } }\n"
         "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv'\n"
         "  convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' "
         "} } }\n"
         "layer { name: 'tanh' type: 'TanH' bottom: 'conv' top: 'tanh' }\n"
         "layer { name: 'ip' type: 'InnerProduct' bottom: 'tanh' top: 'ip'\n"
         "  inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' }\n";
}

struct Attempt {
  MemoryNeed need;  // of a plan that was made
  std::optional<std::string> refusal;
  int64_t peak = 0;
};

Attempt Plan(const std::string& text, int64_t free, int history_slots = 0) {
  SmallDevice device(free);
  ParamStore store(&device, DType::kFloat32, 1);
  PlanOptions options;
  options.device = &device;
  options.backward = true;
  options.history_slots = history_slots;
  Attempt attempt;
  try {
    const Net net(GraphFromText(text), options, &store);
    attempt.need = net.plan().memory;
  } catch (const MemoryShortage& e) {
    EXPECT_EQ(e.code(), ExitCode::kMemory);
    attempt.refusal = e.message();
  }
  attempt.peak = device.peak_bytes();
  return attempt;
}

// Reads the bounds after "the largest batch that fits is": "about 40", "between 40 and 95" or "at
// most 20". Returns {-1, -1} if the message has none.
FittingBatch NamedBatch(const std::string& message) {
  std::smatch found;
  const std::regex pattern(
      "the largest batch that fits is (?:about (\\d+)|between (\\d+) and (\\d+)|at most (\\d+)),");
  if (!std::regex_search(message, found, pattern)) return {-1, -1};
  const auto number = [&](size_t i) { return std::stoll(found[i].str()); };
  if (found[1].matched) return {number(1), number(1) + std::max(2LL, number(1) / 16)};
  if (found[2].matched) return {number(2), number(3)};
  return {0, number(4)};
}

TEST(MemoryNeed, FitsExactlyAndNotWithAByteLess) {
  const int64_t total = Plan(NetOf(4), -1).need.total();
  EXPECT_GT(total, 0);
  EXPECT_FALSE(Plan(NetOf(4), total).refusal);
  EXPECT_TRUE(Plan(NetOf(4), total - 1).refusal);
}

TEST(MemoryNeed, IsWhatIsAllocated) {
  SmallDevice device(-1);
  ParamStore store(&device, DType::kFloat32, 1);
  PlanOptions options;
  options.device = &device;
  options.backward = true;
  const Net net(GraphFromText(NetOf(64)), options, &store);
  // The device rounds each of five blocks up, at most to twice as much.
  EXPECT_GE(device.bytes_in_use(), net.plan().memory.now());
  EXPECT_LE(device.bytes_in_use(), 2 * net.plan().memory.now() + 5 * 64);
}

TEST(MemoryNeed, IsNoMoreThanWithoutSharing) {
  for (const int64_t batch : {1, 4, 64}) {
    const MemoryNeed need = Plan(NetOf(batch), -1).need;
    EXPECT_GT(need.activations, 0);
    EXPECT_GE(need.unshared, need.activations) << batch;
  }
}

// conv has 8 x 3 x 3 x 3 + 8 parameters, ip 3 x 648 + 3.
TEST(MemoryNeed, TellsValuesFromPadding) {
  const MemoryNeed need = Plan(NetOf(4), -1).need;
  EXPECT_EQ(need.unpadded_params, (224 + 1947) * 4);
  EXPECT_GT(need.params, need.unpadded_params);
}

TEST(MemoryNeed, IsRefusedBeforeAnythingIsAllocated) {
  const Attempt attempt = Plan(NetOf(4), 100);
  ASSERT_TRUE(attempt.refusal);
  EXPECT_EQ(attempt.peak, 0);
}

TEST(MemoryNeed, CountsHistory) {
  const Attempt none = Plan(NetOf(4), -1), two = Plan(NetOf(4), -1, 2);
  EXPECT_EQ(none.need.history, 0);
  EXPECT_EQ(two.need.history, 2 * none.need.params);
  EXPECT_EQ(two.need.total(), none.need.total() + 2 * none.need.params);
  EXPECT_FALSE(Plan(NetOf(4), none.need.total()).refusal);
  EXPECT_TRUE(Plan(NetOf(4), none.need.total(), 2).refusal);
}

TEST(MemoryNeed, NamesALargestBatchThatFits) {
  constexpr int64_t kBatch = 200;
  const int64_t total = Plan(NetOf(kBatch), -1).need.total();
  for (const double share : {0.9, 0.5, 0.2, 0.1}) {
    const int64_t free = static_cast<int64_t>(static_cast<double>(total) * share);
    const std::string message = Plan(NetOf(kBatch), free).refusal.value();
    const FittingBatch named = NamedBatch(message);
    ASSERT_GE(named.least, 0) << message;
    ASSERT_LT(named.most, kBatch) << message;
    const std::string remedy =
        named.least > 0 ? "--batch=" + std::to_string(named.least) : "a smaller --batch";
    EXPECT_NE(message.find("What may help: " + remedy), std::string::npos) << message;
    if (named.least > 0) {
      EXPECT_FALSE(Plan(NetOf(named.least), free).refusal) << message;
    }
    EXPECT_TRUE(Plan(NetOf(named.most + 1), free).refusal) << message;
  }
}

TEST(MemoryNeed, SaysWhenNoBatchFits) {
  const Attempt planned = Plan(NetOf(50), -1);
  const std::string message = Plan(NetOf(50), planned.need.params).refusal.value();
  EXPECT_NE(message.find("even a batch of 1 does not fit"), std::string::npos) << message;
  EXPECT_EQ(message.find("--batch"), std::string::npos) << message;
}

TEST(MemoryNeed, SpeaksOfNoBatchWhereThereIsNone) {
  const std::string message =
      Plan(
          "layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { dim: 100 dim: 10 "
          "} } }\n"
          "layer { name: 'loss' type: 'AbsVal' bottom: 'w' top: 'loss' loss_weight: 1 }\n",
          100)
          .refusal.value();
  EXPECT_EQ(message.find("batch"), std::string::npos) << message;
}

TEST(MemoryNeed, SaysEverythingInOneMessage) {
  SmallDevice device(0);
  MemoryNeed need;
  need.net = "train net tiny";
  need.backward = true;
  need.params = 10 << 20;
  need.param_grads = 5 << 20;
  need.history = 10 << 20;
  need.activations = 80 << 20;
  need.batch = 8;
  need.blocks = {{80 << 20, 0, 1}};
  try {
    need.CheckFits(45 << 20, device);
    FAIL() << "it fits";
  } catch (const MemoryShortage& e) {
    // 25 MiB are fixed, and a row takes 10 MiB.
    EXPECT_EQ(e.message(),
              "train net tiny does not fit into the memory of small device: it needs 105.0 MiB "
              "(weights 10.0 MiB, gradients "
              "5.0 MiB, history 10.0 MiB, activations 80.0 MiB), 60.0 MiB more than the 45.0 MiB "
              "that are free; the largest "
              "batch that fits is about 2, and this one is 8. What may help: --batch=2 (and a "
              "larger iter_size to make up for "
              "it), --recompute or ending other programs that use this memory");
    EXPECT_EQ(e.use().total(), 105 << 20);
  }
  EXPECT_NO_THROW(need.CheckFits(105 << 20, device));
  const SmallDevice gpu(0, DeviceKind::kCuda);
  try {
    need.CheckFits(45 << 20, gpu);
    FAIL() << "it fits";
  } catch (const MemoryShortage& e) {
    EXPECT_NE(e.message().find("--recompute, --offload, --precision=bf16 or ending"),
              std::string::npos)
        << e.message();
  }
  EXPECT_NO_THROW(need.CheckFits(-1, device));
}

TEST(MemoryNeed, LetsScratchGrowWithTheBatchWhereItIsDivisible) {
  MemoryNeed need;
  need.batch = 10;
  need.scratch = 10 * 512;
  need.blocks = {{10 * 256, 0, 1}};
  need.activations = 10 * 256;
  EXPECT_EQ(need.LargestBatch(4 * 768).least, 4);
  EXPECT_EQ(need.LargestBatch(4 * 768).most, 4);
}

TEST(MemoryNeed, BoundsTheLargestBatchWhereScratchIsNotDivisible) {
  MemoryNeed need;
  need.batch = 10;
  need.scratch = 10 * 512 + 1;
  need.blocks = {{10 * 256, 0, 1}};
  need.activations = 10 * 256;
  // 9 * 768 - (10 * 512 + 1) bytes hold 6 rows of 256 bytes; without scratch all rows would fit.
  EXPECT_EQ(need.LargestBatch(9 * 768).least, 6);
  EXPECT_EQ(need.LargestBatch(9 * 768).most, 9);
  EXPECT_EQ(need.LargestBatch(3 * 256).least, 0);
  EXPECT_EQ(need.LargestBatch(3 * 256).most, 3);
}

std::string Refusal(const MemoryNeed& need, int64_t free) {
  try {
    need.CheckFits(free, SmallDevice(0));
  } catch (const MemoryShortage& e) {
    return e.message();
  }
  return "it fits";
}

TEST(MemoryNeed, SaysHowFarTheLargestBatchIsKnown) {
  MemoryNeed need;
  need.batch = 100;
  need.blocks = {{100 * 256, 0, 1}};
  need.activations = 100 * 256;
  const auto says = [&](int64_t free, const std::string& batch, const std::string& remedy) {
    const std::string message = Refusal(need, free);
    EXPECT_NE(message.find("the largest batch that fits is " + batch + ", and this one is 100. " +
                           "What may help: " + remedy + " or "),
              std::string::npos)
        << message;
  };
  need.scratch = 257;
  says(90 * 256, "about 88", "--batch=88");
  need.scratch = 40 * 256 + 1;
  says(90 * 256, "between 49 and 90", "--batch=49");
  says(30 * 256, "at most 30", "a smaller --batch");
  EXPECT_NE(Refusal(need, 255).find("even a batch of 1 does not fit"), std::string::npos);
}

TEST(MemoryNeed, TakesBlocksThatNoBatchDividesAsTheyAre) {
  MemoryNeed need;
  need.batch = 10;
  need.blocks = {{10 * 256, 0, 1}, {3 * 256 + 1, 0, 1}};
  need.activations = 10 * 256 + 4 * 256;
  EXPECT_EQ(need.LargestBatch(4 * 256).least, 0);
  EXPECT_EQ(need.LargestBatch(5 * 256).least, 1);
  EXPECT_EQ(need.LargestBatch(13 * 256).least, 9);
}

TEST(MemoryNeed, OfATestNetLeavesRoomForTheHistory) {
  SmallDevice unlimited(-1);
  ParamStore store(&unlimited, DType::kFloat32, 1);
  PlanOptions options;
  options.device = &unlimited;
  options.history_slots = 1;
  options.backward = true;
  const Net train(GraphFromText(NetOf(4)), options, &store);
  options.backward = false;
  const Net test(GraphFromText(NetOf(4), TEST), options, &store);
  const MemoryNeed& need = test.plan().memory;
  EXPECT_EQ(need.params, 0);
  EXPECT_EQ(need.param_grads, 0);
  EXPECT_EQ(need.history, train.plan().memory.params);
  EXPECT_EQ(need.now(), need.activations + need.scratch);
  EXPECT_EQ(need.net, "test net tiny");
}

}  // namespace
}  // namespace doppio
