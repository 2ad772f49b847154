// Tests that a net that does not fit into memory is refused before any allocation, with a batch
// size that does fit.
#include "core/net/plan/memory_need.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <string>

#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// The CPU with a given amount of free memory. Counts the bytes that are asked for.
class SmallDevice : public Device {
 public:
  explicit SmallDevice(int64_t free, bool host_memory = true)
      : Device({host_memory}), free_(free) {}
  std::string kind() const override { return DeviceKind::kCpu; }
  std::string name() const override { return "small device"; }
  void* Allocate(int64_t bytes) override {
    void* const memory = memory_->Allocate(bytes);
    blocks_[memory] = bytes;
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return memory;
  }
  void Free(void* memory) noexcept override {
    in_use_ -= blocks_[memory];
    blocks_.erase(memory);
    memory_->Free(memory);
  }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyFromHost(to, from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyToHost(to, from, bytes);
  }
  void Zero(void* memory, int64_t bytes) override { memory_->Zero(memory, bytes); }
  void Synchronize() override {}
  int64_t bytes_in_use() const override { return in_use_; }
  int64_t peak_bytes() const override { return peak_; }
  int64_t free_bytes() override { return free_; }

 private:
  const int64_t free_;
  const std::unique_ptr<Device> memory_ = MakeCpuDevice();
  std::map<void*, int64_t> blocks_;
  int64_t in_use_ = 0, peak_ = 0;
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
  MemoryNeed need;  // memory need of the plan, if one was made
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

// Returns the batch size in "the largest batch that fits is about 40", or -1.
int64_t NamedBatch(const std::string& message) {
  std::smatch found;
  if (!std::regex_search(message, found, std::regex("batch that fits is about (\\d+), and")))
    return -1;
  return std::stoll(found[1].str());
}

TEST(MemoryNeed, FitsExactlyAndNotWithAByteLess) {
  const int64_t total = Plan(NetOf(4), -1).need.total();
  EXPECT_GT(total, 0);
  EXPECT_FALSE(Plan(NetOf(4), total).refusal);
  EXPECT_TRUE(Plan(NetOf(4), total - 1).refusal);
}

// A net with layers that carry states from pass to pass: an LSTM, two of 4 streams x 5, and an RNN,
// one of 4 streams x 6.
constexpr char kRecurrent[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'cont'\n"
    "  input_param { shape { dim: 3 dim: 4 dim: 7 } shape { dim: 3 dim: 4 } } }\n"
    "layer { name: 'lstm' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'lstm'\n"
    "  recurrent_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'rnn' type: 'RNN' bottom: 'lstm' bottom: 'cont' top: 'rnn' loss_weight: 1\n"
    "  recurrent_param { num_output: 6 weight_filler { type: 'xavier' } } }\n";
constexpr int64_t kRecurrentStates = (2 * 4 * 5 + 4 * 6) * 4;  // bytes

TEST(MemoryNeed, IsWhatIsAllocated) {
  for (const std::string& text : {NetOf(64), std::string(kRecurrent)}) {
    SmallDevice device(-1);
    ParamStore store(&device, DType::kFloat32, 1);
    PlanOptions options;
    options.device = &device;
    options.backward = true;
    Net net(GraphFromText(text), options, &store);
    net.Forward();
    net.Backward(false);
    EXPECT_EQ(device.peak_bytes(), net.plan().memory.now()) << text;
  }
}

TEST(MemoryNeed, CountsStatesBeforeAndAfterAPass) {
  const MemoryNeed need = Plan(kRecurrent, -1).need;
  EXPECT_EQ(need.kept, 2 * kRecurrentStates);
  EXPECT_FALSE(Plan(kRecurrent, need.total()).refusal);
  const std::string message = Plan(kRecurrent, need.total() - 1).refusal.value();
  EXPECT_NE(message.find("kept 512 B"), std::string::npos) << message;
  EXPECT_EQ(Plan(NetOf(4), -1).need.kept, 0);
}

TEST(MemoryNeed, OfAPlanThatDoesNotRunIsKnownWithoutValues) {
  SmallDevice device(-1);
  ParamStore store(&device, DType::kFloat32, 1);
  PlanOptions options;
  options.device = &device;
  options.backward = true;
  options.runs = false;
  const Graph graph = GraphFromText(NetOf(4));
  const std::unique_ptr<doppio::Plan> plan = MakePlan(graph, options, &store);
  EXPECT_EQ(plan->memory.total(), Plan(NetOf(4), -1).need.total());
  const Tensor values = store.arenas().values();
  for (int64_t i = 0; i < values.count(); ++i) ASSERT_EQ(values.data<float>()[i], 0) << i;
}

TEST(MemoryNeed, IsNoMoreThanWithoutSharing) {
  for (const int64_t batch : {1, 4, 64}) {
    const MemoryNeed need = Plan(NetOf(batch), -1).need;
    EXPECT_GT(need.activations, 0);
    EXPECT_GE(need.unshared, need.activations) << batch;
  }
}

// The layer conv has 8 x 3 x 3 x 3 + 8 parameters, and ip has 3 x 648 + 3.
TEST(MemoryNeed, SeparatesValuesFromPadding) {
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
  const int64_t one = Plan(NetOf(1), -1).need.total();
  const int64_t more = Plan(NetOf(kBatch), -1).need.total() - one;
  for (const double share : {0.9, 0.5, 0.2, 0.1}) {
    const int64_t free = one + static_cast<int64_t>(static_cast<double>(more) * share);
    const std::string message = Plan(NetOf(kBatch), free).refusal.value();
    const int64_t named = NamedBatch(message);
    ASSERT_GT(named, 0) << message;
    EXPECT_NE(message.find("Possible remedies: --batch=" + std::to_string(named) + " "),
              std::string::npos)
        << message;
    EXPECT_FALSE(Plan(NetOf(named), free).refusal) << message;
    EXPECT_TRUE(Plan(NetOf(named + std::max<int64_t>(1, named / 16)), free).refusal) << message;
  }
}

// The need of a small batch is not a fixed share of the need of a huge batch: blocks are padded,
// and scratch memory depends on the kernels.
TEST(MemoryNeed, NamesTheSameLargestBatchWhateverWasAskedFor) {
  const int64_t free = Plan(NetOf(300), -1).need.total();
  for (const int64_t batch : {1000LL, 600'000LL, 10'000'000LL, 12'345'677LL}) {
    const std::string message = Plan(NetOf(batch), free).refusal.value();
    const int64_t named = NamedBatch(message);
    EXPECT_LE(300 - 300 / 16 - 1, named) << message;
    EXPECT_LE(named, 300) << message;
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
  need.at_batch = [](int64_t rows) { return rows * (10 << 20); };
  try {
    need.CheckFits(45 << 20, device);
    FAIL() << "it fits";
  } catch (const MemoryShortage& e) {
    // 25 MiB are independent of the batch, and each row takes 10 MiB.
    EXPECT_EQ(e.message(),
              "train net tiny does not fit in the memory of small device: it needs 105.0 MiB "
              "(weights 10.0 MiB, gradients "
              "5.0 MiB, history 10.0 MiB, activations 80.0 MiB), 60.0 MiB more than the 45.0 MiB "
              "that are free; the largest "
              "batch that fits is about 2, and this one is 8. Possible remedies: --batch=2 (and a "
              "larger iter_size to make up for "
              "it), --recompute or ending other programs that use this memory");
    EXPECT_EQ(e.use().total(), 105 << 20);
  }
  EXPECT_NO_THROW(need.CheckFits(105 << 20, device));
  const SmallDevice gpu(0, false);
  const std::string text = Mistake<MemoryShortage>([&] { need.CheckFits(45 << 20, gpu); });
  EXPECT_NE(text.find("--recompute, --offload, --precision=bf16 or ending"), std::string::npos)
      << text;
  EXPECT_NO_THROW(need.CheckFits(-1, device));
}

TEST(MemoryNeed, FindsTheLargestBatchInAFewPlans) {
  for (const int64_t batch : {100LL, 10'000'000LL, 1'000'000'000'000LL}) {
    MemoryNeed need;
    need.batch = batch;
    need.params = 500;
    need.activations = batch * 256;
    need.scratch = batch / 3 * 7 + 1000;
    int plans = 0;
    need.at_batch = [&](int64_t rows) {
      ++plans;
      return rows * 256 + rows / 3 * 7 + 1000;
    };
    for (const int64_t fitting : {1LL, 2LL, 57LL, 80LL}) {
      const int64_t free = 500 + need.at_batch(fitting);
      plans = 0;
      const int64_t found = need.LargestBatch(free).value();
      EXPECT_LE(found, fitting);
      EXPECT_GE(found + std::max<int64_t>(1, found / 16), fitting) << batch;
      EXPECT_LE(plans, 6) << batch << ", " << fitting;
    }
    EXPECT_EQ(need.LargestBatch(500 + 1000), 0);
  }
}

TEST(MemoryNeed, GivesNoAdviceOnABatchThatTheNetDoesNotTake) {
  MemoryNeed need;
  need.batch = 10;
  need.activations = 1000;
  need.at_batch = [](int64_t) -> int64_t { throw UserError(SourceLoc(), "reshape"); };
  EXPECT_FALSE(need.LargestBatch(500));
  const std::string text = Mistake<MemoryShortage>([&] { need.CheckFits(500, SmallDevice(0)); });
  EXPECT_EQ(text.find("batch"), std::string::npos) << text;
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
