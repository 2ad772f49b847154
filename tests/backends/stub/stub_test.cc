// Tests that a kind of device that no code knows trains nets: it computes some layers, and the host
// computes the others.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/device/device_clock.h"
#include "core/device/host_store.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "proto/solver.pb.h"
#include "tests/backends/stub/stub_device.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/solvers/trainer_case.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// The blob conv has two readers, so gradients are added; relu works in place.
constexpr char kStubNet[] = R"(
  layer { name: 'in' type: 'DummyData' top: 'x' top: 'y'
    dummy_data_param { data_filler { type: 'gaussian' } data_filler { value: 1 }
      shape { dim: 4 dim: 3 dim: 6 dim: 6 } shape { dim: 4 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv' device: 'gpu:0'
    convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'tanh' type: 'TanH' bottom: 'conv' top: 'tanh' }
  layer { name: 'sum' type: 'Eltwise' bottom: 'conv' bottom: 'tanh' top: 'sum' }
  layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' device: 'gpu:1' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'sum' top: 'ip'
    inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' })";

struct NetResults {
  double loss = 0;
  std::vector<std::vector<float>> values, gradients;  // of each parameter
};

// With `second`, `device` computes the layers up to sum, and `second` all others.
NetResults RunNet(Device* device, Device* second = nullptr) {
  ParamStore store(device, DType::kFloat32, 1);
  PlanOptions options;
  options.device = device;
  if (second != nullptr) options.places = {{"gpu:0", device}, {"gpu:1", second}};
  options.backward = true;
  options.engine = "reference";
  options.fusion = false;
  Net net(GraphFromText(kStubNet), options, &store);
  NetResults results;
  for (int pass = 0; pass < 2; ++pass) {
    results.loss = net.Forward();
    net.Backward(/*accumulate=*/false);
  }
  for (const Param& param : store.params()) {
    results.values.push_back(ReadTensor(param.value, device).data);
    results.gradients.push_back(ReadTensor(param.grad, device).data);
  }
  EXPECT_EQ(store.arenas().all().size(), second == nullptr ? 1u : 2u);
  return results;
}

TEST(StubBackend, ComputesTheBitsOfTheHost) {
  StubDevice stub;
  const NetResults there = RunNet(&stub), here = RunNet(MakeCpuDevice().get());
  EXPECT_GT(here.loss, 0);
  EXPECT_EQ(there.loss, here.loss);
  EXPECT_EQ(there.values, here.values);
  EXPECT_EQ(there.gradients, here.gradients);
  EXPECT_EQ(stub.bytes_in_use(), 0);
}

TEST(StubBackend, SharesTheLayersWithAnotherDevice) {
  StubDevice first, second;
  const NetResults there = RunNet(&first, &second), here = RunNet(MakeCpuDevice().get());
  EXPECT_EQ(there.loss, here.loss);
  EXPECT_EQ(there.values, here.values);
  EXPECT_EQ(there.gradients, here.gradients);
  EXPECT_EQ(first.bytes_in_use() + second.bytes_in_use(), 0);
  EXPECT_GT(second.peak_bytes(), 0);
}

// LeNet on drawn digits (models/lenet), with small batches.
std::string SmallLeNet() {
  std::string net = ReadFile("models/lenet/demo_train_test.prototxt");
  for (const char* batch : {"batch_size: 64", "batch_size: 100"})
    net.replace(net.find(batch), std::string(batch).size(), "batch_size: 8");
  return net;
}
constexpr char kLeNetSolver[] =
    "base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: 'inv' gamma: 0.0001 power: 0.75 "
    "max_iter: 6 test_iter: 2 test_interval: 3 snapshot: 3 ";

// The CPU's kernels to which the stub's are equal.
TrainerOptions ReferenceOptions() {
  TrainerOptions options;
  options.plan.engine = "reference";
  options.plan.fusion = false;
  return options;
}

// Trains and returns the weights' file.
std::string TrainLeNet(TrainerCase* c, const TrainerOptions& options, TrainResult* result) {
  *result = c->Make(options)->Solve();
  return ReadFile(c->Model(6));
}

TEST(StubBackend, TrainsLeNetToTheBitsOfTheCpu) {
  TrainerCase here(SmallLeNet(), kLeNetSolver);
  TrainerCase there(SmallLeNet(), kLeNetSolver, std::make_unique<StubDevice>());
  TrainResult cpu, stub;
  EXPECT_EQ(TrainLeNet(&there, {}, &stub), TrainLeNet(&here, ReferenceOptions(), &cpu));
  ASSERT_EQ(stub.tests.size(), 1u);
  EXPECT_EQ(stub.tests[0].loss, cpu.tests[0].loss);
}

TEST(StubBackend, ResumesOnTheStubAndOnTheCpu) {
  TrainerCase there(SmallLeNet(), kLeNetSolver, std::make_unique<StubDevice>());
  TrainerCase here(SmallLeNet(), kLeNetSolver);
  TrainResult result;
  const std::string whole = TrainLeNet(&there, {}, &result);
  TrainerOptions options;
  options.resume = there.State(3);
  EXPECT_EQ(TrainLeNet(&there, options, &result), whole);
  options = ReferenceOptions();
  options.resume = there.State(3);
  EXPECT_EQ(TrainLeNet(&here, options, &result), whole);
}

TEST(StubBackend, RepeatsMeasuredChoicesOnResume) {
  TrainerCase there(SmallLeNet(), kLeNetSolver, std::make_unique<StubDevice>());
  there.Make()->Solve();
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(there.State(3))));
  RunState& run = *state.mutable_run_state();
  // LeNet has one ReLU, with batches of 8 in both nets.
  ASSERT_EQ(run.measured_choice_size(), 1);
  const std::string key = "stub: ReLU of 4000 elements = ";
  const bool forwards = run.measured_choice(0) == key + "forwards";
  EXPECT_TRUE(forwards || run.measured_choice(0) == key + "backwards") << run.measured_choice(0);
  // The resumed training takes the other way, however fast it is.
  const std::string other = key + (forwards ? "backwards" : "forwards");
  run.set_measured_choice(0, other);
  run.clear_summed();
  state.clear_crc();
  WriteFileAtomically(there.State(3), state.SerializeAsString());
  auto device = std::make_unique<StubDevice>();
  const MeasuredChoices& choices = device->measured_choices();
  TrainerCase resumed(SmallLeNet(), kLeNetSolver, std::move(device));
  TrainerOptions options;
  options.resume = there.State(3);
  resumed.Make(options)->Solve();
  EXPECT_EQ(choices.lines(), std::vector<std::string>{other});
}

TEST(StubBackend, ComputesSomeLayersAndLeavesTheOthersToTheHost) {
  TrainerCase there(SmallLeNet(), kLeNetSolver, std::make_unique<StubDevice>());
  const auto trainer = there.Make();
  const Net& net = trainer->train_net();
  std::map<std::string, std::string> engines;
  for (size_t n = 0; n < net.plan().kernel_types.size(); ++n) {
    if (const KernelType* type = net.plan().kernel_types[n])
      engines[net.graph().layer(static_cast<int>(n)).type()] = type->engine;
  }
  const std::map<std::string, std::string> expected = {
      {"Convolution", "stub"}, {"Data", "stub"}, {"InnerProduct", "stub"},
      {"Pooling", "stub"},     {"ReLU", "stub"}, {"SoftmaxWithLoss", "host"}};
  EXPECT_EQ(engines, expected);
}

TEST(StubBackend, KeepsBlocksOnTheHost) {
  StubDevice stub;
  const std::vector<float> first = {1, 2, 3}, second = {4, 5};
  const auto bytes = [](const std::vector<float>& values) {
    return static_cast<int64_t>(values.size() * sizeof(float));
  };
  const Buffer blocks[] = {Buffer(&stub, bytes(first)), Buffer(&stub, bytes(second))};
  stub.CopyFromHost(blocks[0].data(), first.data(), bytes(first));
  stub.CopyFromHost(blocks[1].data(), second.data(), bytes(second));
  const auto store =
      MakeHostStore(&stub, {{blocks[0].data(), bytes(first)}, {blocks[1].data(), bytes(second)}});
  for (int i : {0, 1}) store->Save(i);
  for (int i : {0, 1}) store->Saved(i);
  for (const Buffer& block : blocks) stub.Zero(block.data(), block.bytes());
  for (int i : {1, 0}) store->Fetch(i);
  for (int i : {1, 0}) store->Fetched(i);
  std::vector<float> back(3);
  stub.CopyToHost(back.data(), blocks[0].data(), bytes(first));
  EXPECT_EQ(back, first);
  back.resize(2);
  stub.CopyToHost(back.data(), blocks[1].data(), bytes(second));
  EXPECT_EQ(back, second);
}

TEST(StubBackend, SumsGradientsOfTwoStubs) {
  ReplicasCase stubs(SmoothLeNet(), "base_lr: 0.01 momentum: 0.9 lr_policy: 'fixed' max_iter: 4 ");
  stubs.On([] { return std::make_unique<StubDevice>(); }, "host");
  EXPECT_LT(LargestDifference(stubs.Together(2, kTotal / 2), stubs.Alone(kTotal)), kTolerance);
}

TEST(StubBackend, ListsItsDevicesAndRefusesOthers) {
  const DeviceBackend& backend = *DeviceBackends::Get().Find(kStubKind);
  ASSERT_EQ(backend.list().size(), 2u);
  EXPECT_EQ(backend.make(1)->name(), backend.list()[1].name);
  EXPECT_EQ(Mistake<DeviceError>([&] { backend.make(2); }),
            "there is no stub 2; the last one is 1");
}

TEST(StubBackend, TimesItsWork) {
  StubDevice stub;
  const std::unique_ptr<DeviceClock> clock = MakeDeviceClock(&stub);
  clock->Start();
  EXPECT_EQ(clock->Mark(), 0);
  EXPECT_EQ(clock->Mark(), 1);
  const std::vector<int64_t> times = clock->Read();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_LE(times[0], times[1]);
}

}  // namespace
}  // namespace doppio
