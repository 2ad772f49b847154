// Tests how the work of a rank appears on the timeline: on one track on a CPU, and on two on a GPU.
#include "core/net/run/run_trace.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/clock.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

std::map<int, std::vector<std::string>> NamesByTrack(const std::vector<TimelineSpan>& spans) {
  std::map<int, std::vector<std::string>> names;
  for (const TimelineSpan& span : spans) names[span.track].push_back(span.name);
  return names;
}

// Traces one piece of work of each kind.
std::vector<TimelineSpan> OneOfEach(RunTrace* trace) {
  int done = 0;
  trace->Start();
  Trace(trace, TraceOf::kHost, "c", "host", [&] { ++done; });
  Trace(trace, TraceOf::kDevice, "c", "device", [&] { ++done; });
  Trace(
      trace, TraceOf::kBoth, "c", "both", [&] { ++done; }, 7);
  Trace(trace, TraceOf::kWait, "c", "wait", [&] { ++done; });
  trace->CollectDeviceTimes();
  EXPECT_EQ(done, 4);
  return trace->Take();
}

TEST(RunTrace, KeepsNothingWhileItIsOff) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  RunTrace trace(device.get());
  int done = 0;
  Trace(nullptr, TraceOf::kBoth, "c", "nobody asked", [&] { ++done; });
  Trace(&trace, TraceOf::kBoth, "c", "not started", [&] { ++done; });
  trace.Start();
  trace.Stop();
  Trace(&trace, TraceOf::kBoth, "c", "stopped", [&] { ++done; });
  EXPECT_EQ(done, 3);
  trace.Start();
  trace.CollectDeviceTimes();
  EXPECT_TRUE(trace.Take().empty());
}

TEST(RunTrace, ShowsAllOnOneTrackOnTheCpu) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  RunTrace trace(device.get());
  const std::map<int, std::vector<std::string>> expected = {
      {RunTrace::kTraining, {"host", "device", "both 7", "wait"}}};
  EXPECT_EQ(NamesByTrack(OneOfEach(&trace)), expected);
}

TEST_ON_GPU(RunTrace, ShowsWhatAGpuComputesOnItsOwnTrack) {
  const std::unique_ptr<Device> device = TestGpu();
  RunTrace trace(device.get());
  const std::map<int, std::vector<std::string>> expected = {
      {RunTrace::kTraining, {"host", "both 7", "wait"}}, {RunTrace::kStream, {"device", "both 7"}}};
  const std::vector<TimelineSpan> spans = OneOfEach(&trace);
  EXPECT_EQ(NamesByTrack(spans), expected);
  for (const TimelineSpan& span : spans) EXPECT_LE(span.begin, span.end) << span.name;
}

TEST(RunTrace, BeginsWhenTheDeviceHasComeToAMark) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  RunTrace trace(device.get());
  trace.Start();
  const int64_t before = MonotonicNs();
  const int mark = trace.Mark();
  const int64_t after = MonotonicNs(), second = 1'000'000'000;
  trace.Add({"early", "c", RunTrace::kExchange, before - second, after + second}, mark);
  trace.Add({"late", "c", RunTrace::kExchange, after + 5, after + 9}, mark);
  trace.Add({"over", "c", RunTrace::kExchange, before - 9, before - 5}, mark);
  trace.Add({"free", "c", RunTrace::kExchange, before - 9, before - 5});
  trace.CollectDeviceTimes();
  const std::vector<TimelineSpan> spans = trace.Take();
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_TRUE(spans[0].begin >= before && spans[0].begin <= after);
  EXPECT_EQ(spans[0].end, after + second);
  EXPECT_EQ(spans[1].begin, after + 5);
  EXPECT_EQ(spans[2].begin, before - 5);  // never after its end
  EXPECT_EQ(spans[3].begin, before - 9);
}

TEST_ON_DEVICES(RunTrace, ShowsEveryLayerOfANetAndChangesNoNumber) {
  const std::unique_ptr<Device> device = TestDevice();
  PlanOptions options;
  options.device = device.get();
  options.backward = true;
  ParamStore store(device.get(), DType::kFloat32, 5);
  Net net(
      GraphFromText(
          "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
          "  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }\n"
          "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { "
          "num_output: 2\n"
          "  weight_filler { type: 'gaussian' } } }\n"
          "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 'y' top: 'loss' }\n"),
      options, &store);
  const Tensor x = net.Blob("x");
  device->CopyFromHost(x.raw, std::vector<float>(12, 0.5F).data(), x.bytes());
  std::vector<double> losses;
  RunTrace trace(device.get());
  net.passes().steps().set_trace(&trace);
  // Runs untraced, traced and untraced passes. Tracing must not touch a GPU's recordings.
  for (const bool traced : {false, false, true, true, false}) {
    if (traced) trace.Start();
    losses.push_back(net.Forward());
    net.Backward(false);
    if (traced) trace.CollectDeviceTimes();
    trace.Stop();
  }
  EXPECT_GT(losses[0], 0);
  EXPECT_EQ(losses, std::vector<double>(5, losses[0]));
  std::map<std::string, int> seen;
  for (const TimelineSpan& span : trace.Take())
    ++seen[std::string(span.category) + " " + span.name];
  EXPECT_EQ(seen["forward ip"], 2);
  EXPECT_EQ(seen["forward loss"], 2);
  EXPECT_EQ(seen["backward ip"], 2);
  EXPECT_EQ(seen["backward loss"], 2);
}

}  // namespace
}  // namespace doppio
