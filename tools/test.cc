// `test`: scores weights by the outputs of a net, averaged over batches.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "core/net/net.h"
#include "solvers/schedule.h"
#include "solvers/test_pass.h"
#include "tools/command.h"
#include "tools/devices.h"
#include "tools/flags.h"
#include "tools/nets.h"
#include "tools/text_table.h"

namespace doppio {
namespace {

// --iterations, else what the solver says, else Caffe's 50; 0 means the whole source once.
int64_t BatchesToRun(const CommandLine& line, const Net& net, int64_t of_solver) {
  int64_t batches = FLAGS_iterations;
  if (!line.Given("iterations") && line.Given("solver")) batches = of_solver;
  if (batches > 0) return batches;
  const SourceSize source = FindSource(net);
  if (source.samples == 0 || source.batch == 0) {
    throw UsageError("the test data has no end or does not tell its size: say --iterations=N");
  }
  return (source.samples + source.batch - 1) / source.batch;
}

// With a log line for each batch, as Caffe prints them.
TestScores Score(Net* net, int64_t batches) {
  LOG(INFO) << "Running for " << batches << " iterations.";
  TestScores sum;
  for (int64_t i = 0; i < batches; ++i) {
    const TestScores one = RunTest(net, 1, nullptr, nullptr);
    for (const OutputValue& output : one.scores) {
      LOG(INFO) << "Batch " << i << ", " << output.blob << " = " << output.value;
    }
    sum.loss += one.loss;
    if (i == 0) {
      sum.scores = one.scores;
      continue;
    }
    for (size_t k = 0; k < sum.scores.size(); ++k) sum.scores[k].value += one.scores[k].value;
  }
  sum.batches = batches;
  sum.loss /= static_cast<double>(batches);
  LOG(INFO) << "Loss: " << sum.loss;
  for (OutputValue& output : sum.scores) {
    output.value /= static_cast<double>(batches);
    std::ostringstream text;
    text << output.blob << " = " << output.value;
    if (output.loss_weight != 0) {
      text << " (* " << output.loss_weight << " = " << output.loss_weight * output.value
           << " loss)";
    }
    LOG(INFO) << text.str();
  }
  return sum;
}

std::string Number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void PrintText(const Net& net, const TestScores& scores) {
  TextTable table({"output", ">mean", ">loss weight"});
  for (const OutputValue& output : scores.scores) {
    table.Add({output.blob, Number(output.value),
               output.loss_weight == 0 ? "–" : Number(output.loss_weight)});
  }
  table.Add({"weighted loss", Number(scores.loss), ""});
  table.Print(std::cout);
  std::cout << scores.batches << " batches of " << BatchOf(net.graph()) << '\n';
}

void PrintJson(const Net& net, const TestScores& scores) {
  nlohmann::json out;
  out["net"] = net.graph().spec.name;
  out["batches"] = scores.batches;
  out["batch"] = BatchOf(net.graph());
  out["loss"] = scores.loss;
  out["outputs"] = nlohmann::json::array();
  for (const OutputValue& output : scores.scores) {
    out["outputs"].push_back(
        {{"name", output.blob}, {"value", output.value}, {"loss_weight", output.loss_weight}});
  }
  std::cout << out.dump(2) << '\n';
}

ExitCode RunTestCommand(const CommandLine& line, bool* began) {
  const std::unique_ptr<Device> device = OpenDevice(FLAGS_gpu);
  const DataMode data = FLAGS_synthetic ? DataMode::kSynthetic : DataMode::kOpen;
  FlaggedNet named = NetFromFlags(line, TEST, data);
  ParamStore params(device.get(), DType::kFloat32, named.graph.spec.options.seed);
  PlanOptions options;
  options.device = device.get();
  options.engine = FLAGS_engine;
  options.fusion = FLAGS_fusion;
  Net net(std::move(named.graph), options, &params);
  if (!FLAGS_weights.empty()) LoadWeightFiles(FLAGS_weights, &net);
  const int64_t batches = BatchesToRun(line, net, named.test_iter);
  *began = true;
  const TestScores scores = Score(&net, batches);
  if (FLAGS_json) {
    PrintJson(net, scores);
  } else {
    PrintText(net, scores);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "test",
    {"scores weights on test data",
     {"model", "solver", "weights", "iterations", "gpu", "precision", "workspace_mb", "deterministic", "cuda_graph",
      "level", "stage", "batch", "set", "unset", "synthetic", "data_threads", "seed", "engine", "fusion", "json"},
     {"model|solver", "weights"},
     "",
     "doppio test --model=models/lenet/train_val.prototxt --weights=lenet_iter_10000.caffemodel "
     "--iterations=100",
     &RunTestCommand});

}  // namespace
}  // namespace doppio
