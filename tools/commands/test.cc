// `test`: scores weights by the outputs of a net on test data.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/log.h"
#include "core/net/run/net.h"
#include "solvers/scores/average_precision.h"
#include "solvers/trainer/nonfinite.h"
#include "solvers/trainer/schedule.h"
#include "solvers/scores/test_pass.h"
#include "tools/cli/command.h"
#include "tools/cli/output_json.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/nets/devices.h"
#include "tools/nets/nets.h"
#include "tools/nets/preparation.h"

namespace doppio {
namespace {

// Returns the number of batches from --iterations or the solver's test_iter; 0 means the whole
// source once. Returns nothing if neither is given.
std::optional<int64_t> BatchesAskedFor(const CommandLine& line, int64_t of_solver) {
  if (line.Given("iterations")) return std::max(0, line.flags.iterations);
  if (line.Given("solver") && of_solver != kWholePass) return of_solver;
  return std::nullopt;
}

// Returns true if the default is to run the whole source. Otherwise the default is 50 batches, as
// in Caffe.
bool RunsWhole(const Net& net) {
  const SourceSize source = FindSource(net);
  return source.known() && source.PartialBatchMistake().empty();
}

SourceSize WholeSource(const Net& net) {
  const SourceSize source = FindSource(net);
  if (!source.known()) {
    throw UsageError("the size of the test data is unknown or unlimited; give --iterations=N");
  }
  const std::string mistake = source.PartialBatchMistake();
  if (!mistake.empty()) throw UsageError("the test net " + mistake + "; or give --iterations=N");
  return source;
}

// Runs the test and logs a line for each batch, as Caffe does. With a rule, scores detections.
TestScores Score(const TestRun& run, const std::optional<PrecisionRule>& precision) {
  LOG(INFO) << "Running for " << run.batches << " iterations.";
  std::optional<DetectionScores> detections;
  if (precision) detections.emplace(DetectionOutputs(*run.net, {}));
  TestScores test =
      RunTest(run, nullptr, nullptr, [&](int64_t batch, const std::vector<OutputValue>& outputs) {
        if (detections) return detections->Add(batch, outputs);
        for (const OutputValue& output : outputs) {
          LOG(INFO) << "Batch " << batch << ", " << output.blob << " = " << output.value;
        }
      });
  if (detections) test.scores = detections->Log(*precision, true);
  LOG(INFO) << "Loss: " << test.loss;
  for (const OutputValue& output : test.scores) LOG(INFO) << OutputText(output);
  return test;
}

int64_t SamplesOf(const TestRun& run) {
  return run.full_batches() * BatchOf(run.net->graph()) + run.last_rows;
}

// Returns a text such as "5 000 of 10 000 images".
std::string SamplesText(const TestRun& run) {
  const Graph& graph = run.net->graph();
  const bool images = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.bottoms.empty() && !node.tops.empty() &&
           graph.edges[node.tops[0]].shape.rank() == 4;
  });
  const int64_t run_through = SamplesOf(run), all = FindSource(*run.net).samples;
  const std::string things = images ? " images" : " samples", count = Thousands(run_through);
  if (all == 0) return count + things;
  return run_through <= all ? count + " of " + Thousands(all) + things
                            : count + things + " from a set of " + Thousands(all);
}

void PrintText(const TestRun& run, const TestScores& scores) {
  const bool classes = std::any_of(scores.scores.begin(), scores.scores.end(),
                                   [](const OutputValue& output) { return output.of_class >= 0; });
  std::vector<std::string> titles = {"output", ">score", ">loss weight"};
  if (classes) titles.emplace_back("class");
  TextTable table(titles);
  for (const OutputValue& output : scores.scores) {
    const std::string number = output.of_class < 0 ? "" : std::to_string(output.of_class) + " ";
    table.Add({output.blob, output.absent ? "–" : Significant(output.value),
               output.loss_weight == 0 ? "–" : Significant(output.loss_weight),
               number + output.class_name});
  }
  table.Add({"weighted loss", Significant(scores.loss), ""});
  table.Print(std::cout);
  std::cout << SamplesText(run) << ", in " << scores.batches
            << (scores.batches == 1 ? " batch of " : " batches of ") << BatchOf(run.net->graph());
  if (run.last != nullptr) std::cout << ", the last one of " << run.last_rows;
  std::cout << '\n';
}

void PrintJson(const TestRun& run, const TestScores& scores) {
  const Graph& graph = run.net->graph();
  nlohmann::json out;
  out["net"] = graph.spec.name;
  out["batches"] = scores.batches;
  out["batch"] = BatchOf(graph);
  out["samples"] = SamplesOf(run);
  const int64_t all = FindSource(*run.net).samples;
  out["samples_in_source"] = all == 0 ? nlohmann::json(nullptr) : nlohmann::json(all);
  out["last_batch"] = run.last == nullptr ? BatchOf(graph) : run.last_rows;
  out["loss"] = scores.loss;
  out["outputs"] = nlohmann::json::array();
  for (const OutputValue& output : scores.scores) {
    nlohmann::json json = ToJson(output);
    json["loss_weight"] = output.loss_weight;
    out["outputs"].push_back(std::move(json));
  }
  std::cout << JsonText(out) << '\n';
}

// Warns if the test net preprocesses images differently from the training of the weights.
void WarnOfOtherImages(const Graph& graph, const std::optional<Preprocessing>& in_weights) {
  if (!graph.preprocessing || !in_weights) return;
  const std::string difference = DifferenceText(*graph.preprocessing, *in_weights);
  if (difference.empty()) return;
  LOG(WARNING) << "The test net prepares images differently from the training of the weights: "
               << difference;
}

void WarnOfRepeatedSamples(const TestRun& run) {
  const int64_t all = FindSource(*run.net).samples, read = SamplesOf(run);
  if (all == 0 || read <= all) return;
  LOG(WARNING) << "The " << run.batches << " batches have " << read
               << " samples, but the source has only " << all
               << ", so some samples count more often than others; --iterations=0 counts each once";
}

void CheckFinite(const Net& net, const TestScores& scores) {
  const std::string names = NonFiniteScores(scores);
  if (names.empty()) return;
  const NonFinite weights = FindNonFiniteWeights(net);
  throw Error(ExitCode::kNonFinite,
              "these results are not finite: " + names + "; " +
                  (weights.node < 0
                       ? "all weights are finite"
                       : Describe(weights, net) + ": test an earlier snapshot of this training"));
}

ExitCode RunTestCommand(const CommandLine& line, bool* began) {
  const std::unique_ptr<Device> device = OpenDevice(line.flags);
  NetOptions net_options = MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kOpen);
  NamedNet named = MakeNamedNet(line.flags, net_options);
  if (line.flags.weights.empty() && !named.graph.params.empty())
    throw UsageError("'test' needs --weights\ntry: doppio test --help");
  ParamStore params(device.get(), DType::kFloat32, named.graph.spec.options.seed);
  const PlanOptions options = MakePlanOptions(line.flags, device.get());
  Net net(std::move(named.graph), options, &params);
  std::unique_ptr<Net> last;
  TestRun run;
  run.net = &net;
  const std::optional<int64_t> asked = BatchesAskedFor(line, named.test_iter);
  run.batches = asked.value_or(RunsWhole(net) ? 0 : line.flags.iterations);
  if (run.batches == 0) {
    const SourceSize source = WholeSource(net);
    run.batches = source.batches();
    run.rows = source.batch;
    run.last_rows = source.last_rows();
    if (run.last_rows > 0) {
      net_options.batch = run.last_rows;
      last = WithLastRowsContext(run.last_rows, {}, [&] {
        return std::make_unique<Net>(MakeNamedNet(line.flags, net_options, true).graph, options,
                                     &params);
      });
      run.last = last.get();
    }
  }
  std::optional<Preprocessing> in_weights;
  if (!line.flags.weights.empty()) {
    in_weights = LoadWeightFiles(line.flags.weights, &net);
    WarnOfOtherImages(net.graph(), in_weights);
  }
  WarnOfRepeatedSamples(run);
  run.class_names = ClassNamesOf({net.graph().preprocessing, in_weights});
  *began = true;
  std::optional<PrecisionRule> precision = named.precision;
  if (line.Given("model") && ScoresDetections(net.graph())) precision = PrecisionRule::kIntegral;
  const TestScores scores = Score(run, precision);
  if (line.flags.json) {
    PrintJson(run, scores);
  } else {
    PrintText(run, scores);
  }
  std::cout.flush();
  CheckFinite(net, scores);
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "test",
    {"scores weights on test data",
     Words("model solver weights iterations gpu precision workspace_mb deterministic "
           "cuda_graph level stage batch set unset synthetic threads data_threads max_pixels seed "
           "engine fusion winograd json"),
     {"model|solver"},
     "",
     "doppio test --model=models/lenet/train_val.prototxt --weights=lenet_iter_10000.caffemodel",
     &RunTestCommand});

}  // namespace
}  // namespace doppio
