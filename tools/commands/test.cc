// `test`: scores weights by the outputs of a net on test data.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/net/run/net.h"
#include "solvers/scores/average_precision.h"
#include "solvers/trainer/nonfinite.h"
#include "solvers/trainer/schedule.h"
#include "solvers/scores/test_pass.h"
#include "tools/cli/command.h"
#include "tools/cli/output_json.h"
#include "tools/cli/text_table.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"
#include "tools/evaluation/evaluation.h"
#include "tools/evaluation/evaluation_files.h"
#include "tools/evaluation/evaluation_text.h"
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

void PrintJson(const TestRun& run, const TestScores& scores, const nlohmann::json& evaluation) {
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
  out["evaluation"] = evaluation;
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

// A net with weights, ready for a test.
struct TestedNet {
  TestedNet(Device* device, uint64_t seed) : params(device, DType::kFloat32, seed) {}

  ParamStore params;
  std::unique_ptr<Net> net, last;
  TestRun run;
  std::optional<PrecisionRule> precision;  // of nets that score detections
};

std::unique_ptr<TestedNet> PrepareTest(const CommandLine& line, Device* device,
                                       const std::string& weights) {
  NetOptions net_options = MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kOpen);
  NamedNet named = MakeNamedNet(line.flags, net_options);
  if (weights.empty() && !named.graph.params.empty())
    throw UsageError("'test' needs --weights\ntry: doppio test --help");
  auto tested = std::make_unique<TestedNet>(device, named.graph.spec.options.seed);
  PlanOptions options = MakePlanOptions(line.flags, device);
  tested->precision = named.precision;
  if (line.Given("model") && ScoresDetections(named.graph))
    tested->precision = PrecisionRule::kIntegral;
  if (!tested->precision) ShowHead(named.graph, &options);
  tested->net = std::make_unique<Net>(std::move(named.graph), options, &tested->params);
  TestRun& run = tested->run;
  run.net = tested->net.get();
  if (!tested->precision) run.named_errors = kListedErrors;
  const std::optional<int64_t> asked = BatchesAskedFor(line, named.test_iter);
  run.batches = asked.value_or(RunsWhole(*run.net) ? 0 : line.flags.iterations);
  if (run.batches == 0) {
    const SourceSize source = WholeSource(*run.net);
    run.batches = source.batches();
    run.rows = source.batch;
    run.last_rows = source.last_rows();
    if (run.last_rows > 0) {
      net_options.batch = run.last_rows;
      tested->last = WithLastRowsContext(run.last_rows, {}, [&] {
        Graph graph = MakeNamedNet(line.flags, net_options, true).graph;
        return std::make_unique<Net>(std::move(graph), options, &tested->params);
      });
      run.last = tested->last.get();
    }
  }
  std::optional<Preprocessing> in_weights;
  if (!weights.empty()) {
    in_weights = LoadWeightFiles(weights, run.net);
    WarnOfOtherImages(run.net->graph(), in_weights);
  }
  run.class_names = ClassNamesOf({run.net->graph().preprocessing, in_weights});
  return tested;
}

// Returns the weights to test: those of --weights, or the trained ones of a folder.
std::string WeightsOf(const CommandLine& line) {
  if (!line.flags.weights.empty() || line.folder.empty()) return line.flags.weights;
  const TrainedWeights trained = TrainedWeightsIn(line.folder);
  LOG(INFO) << "Weights: " << trained.path << " (" << trained.which << ")";
  return trained.path;
}

// Throws UsageError if a flag asks for something that an evaluation of the net does not have.
void CheckEvaluationFlags(const CommandLine& line, const Net& net) {
  const std::optional<ScoreHead> head = CollectedHead(net);
  for (const char* flag : {"page", "tables", "baseline"}) {
    const bool compares = std::string(flag) == "baseline";
    if (!line.Given(flag) || (head && (!compares || head->kind == HeadKind::kClassifier))) continue;
    throw UsageError("--", flag, " needs a net that ",
                     compares ? "classifies samples" : "can be evaluated",
                     ": its test phase has no SoftmaxWithLoss or Accuracy",
                     compares ? " of one label per sample"
                              : ", EuclideanLoss, L1Loss or "
                                "SmoothL1Loss of two blobs",
                     " (nets that score detections have their own outputs)");
  }
  const std::string why = line.flags.page.empty() ? "" : WhyNotWritable(line.flags.page);
  if (!why.empty()) throw FileError("cannot write --page '" + line.flags.page + "': " + why);
}

// Tests the weights of --baseline on the same samples.
PairedComparison CompareWithBaseline(const CommandLine& line, Device* device,
                                     const Predictions& predictions) {
  const std::unique_ptr<TestedNet> other = PrepareTest(line, device, line.flags.baseline);
  LOG(INFO) << "Running the baseline for " << other->run.batches << " iterations.";
  const TestScores scores = RunTest(other->run, nullptr, nullptr);
  return ComparePredictions(predictions.rows, scores.predictions->rows);
}

// Returns the evaluation of a test, or null if the net has no head, and writes its files.
nlohmann::json EvaluateTest(const CommandLine& line, const std::string& weights, Device* device,
                            const std::string& net, const TestScores& scores) {
  if (scores.predictions == nullptr) return nullptr;
  const Predictions& predictions = *scores.predictions;
  nlohmann::json evaluation = Evaluate(predictions, SeedOr1(line.flags.seed));
  evaluation["weights"] = weights;
  if (!line.flags.baseline.empty()) {
    evaluation["baseline"] =
        ToJson(CompareWithBaseline(line, device, predictions), line.flags.baseline);
  }
  if (!line.flags.tables.empty()) WriteTables(line.flags.tables, evaluation);
  if (!line.flags.page.empty()) {
    nlohmann::json shown = evaluation;
    AddThumbnails(predictions, &shown);
    const std::string name = net.empty() ? "net" : net;
    WriteFileAtomically(line.flags.page, EvaluationPage(shown, "Evaluation of " + name));
  }
  return evaluation;
}

ExitCode RunTestCommand(const CommandLine& line, bool* began) {
  const std::unique_ptr<Device> device = OpenDevice(line.flags);
  const std::string weights = WeightsOf(line);
  std::unique_ptr<TestedNet> tested = PrepareTest(line, device.get(), weights);
  const TestRun& run = tested->run;
  CheckEvaluationFlags(line, *run.net);
  WarnOfRepeatedSamples(run);
  *began = true;
  const TestScores scores = Score(run, tested->precision);
  const nlohmann::json evaluation =
      EvaluateTest(line, weights, device.get(), run.net->graph().spec.name, scores);
  if (line.flags.json) {
    PrintJson(run, scores, evaluation);
  } else {
    PrintText(run, scores);
    if (!evaluation.is_null()) PrintEvaluation(evaluation, std::cout);
  }
  std::cout.flush();
  CheckFinite(*run.net, scores);
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "test",
    {"scores weights on test data, and evaluates classifiers",
     Words("model solver weights iterations gpu precision workspace_mb deterministic "
           "cuda_graph level stage batch set unset synthetic threads data_threads max_pixels seed "
           "engine fusion winograd page tables baseline json"),
     {"model|solver"},
     "",
     "doppio test --model=models/lenet/train_val.prototxt --weights=lenet_iter_10000.caffemodel\n"
     "  doppio test photos_doppio --page=photos.html",
     &RunTestCommand});

}  // namespace
}  // namespace doppio
