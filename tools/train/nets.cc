#include "tools/train/nets.h"

#include <cctype>

#include "core/base/whole_number.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/weights.h"
#include "tools/train/devices.h"
#include "tools/cli/flags.h"
#include "tools/train/lint.h"

namespace doppio {
namespace {

// Parses "off", "auto", or an integer in [least, most]. Throws UsageError for other values.
int64_t OffAutoOr(const std::string& flag, const std::string& value, int64_t least, int64_t most,
                  int64_t off, int64_t automatic) {
  if (value == "off") return off;
  if (value == "auto") return automatic;
  const std::optional<int64_t> number = WholeNumber(value);
  if (!number || *number < least || *number > most) {
    throw UsageError("--" + flag + " wants off, auto" + (flag == "recompute" ? ", light" : "") +
                     " or a number from " + std::to_string(least) + " to " + std::to_string(most) +
                     ", got '" + value + "'");
  }
  return *number;
}

// Returns the settings of --recompute and --offload. Throws UsageError.
MemorySaving SavingFromFlags() {
  constexpr int64_t kMostSegments = 1000, kMostMegabytes = 100'000'000;
  MemorySaving saving;
  saving.light = FLAGS_recompute == "light";
  saving.segments =
      saving.light
          ? 0
          : static_cast<int>(OffAutoOr("recompute", FLAGS_recompute, 2, kMostSegments, 1, 0));
  const int64_t megabytes = OffAutoOr("offload", FLAGS_offload, 1, kMostMegabytes, -1, 0);
  saving.activation_bytes = megabytes > 0 ? megabytes << 20 : megabytes;
  return saving;
}

}  // namespace

Phase PhaseFromFlags(Phase otherwise) {
  if (FLAGS_phase.empty()) return otherwise;
  std::string upper;
  for (char c : FLAGS_phase)
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  Phase phase;
  if (!Phase_Parse(upper, &phase)) {
    throw UsageError("--phase wants TRAIN or TEST, got '" + FLAGS_phase + "'");
  }
  return phase;
}

Overrides OverridesOf(const CommandLine& line) { return ParseOverrides(line.sets, line.unsets); }

NetOptions OptionsFromFlags(Phase phase, DataMode data) {
  if (FLAGS_batch < 0 || FLAGS_batch > INT32_MAX) {
    throw UsageError("--batch wants a number of images, got " + std::to_string(FLAGS_batch));
  }
  if (FLAGS_data_threads < 0) {
    throw UsageError("--data_threads wants 0 or more, got " + std::to_string(FLAGS_data_threads));
  }
  if (!FLAGS_engine.empty() && FLAGS_engine != "reference" && FLAGS_engine != "onednn") {
    throw UsageError("--engine wants reference or onednn, got '" + FLAGS_engine + "'");
  }
  NetOptions options;
  options.phase = phase;
  options.data = data;
  options.batch = FLAGS_batch;
  options.data_threads = FLAGS_data_threads;
  options.stored = StoredFromFlags();
  options.seed = FLAGS_seed >= 0 ? static_cast<uint64_t>(FLAGS_seed) : 1;
  return options;
}

PlanOptions PlanFromFlags(Device* device) {
  PlanOptions options;
  options.device = device;
  options.engine = FLAGS_engine;
  options.fusion = FLAGS_fusion;
  options.saving = SavingFromFlags();
  return options;
}

FlaggedNet NetFromFlags(const CommandLine& line, Phase phase, DataMode data, int64_t batch) {
  if (line.Given("model") && line.Given("solver")) {
    throw UsageError("--model and --solver both name a net; give one of them");
  }
  NetOptions options = OptionsFromFlags(phase, data);
  if (batch > 0) options.batch = batch;
  auto understand = [&](const NetSource& source) {
    return MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
  };
  const std::vector<std::string> stages = SplitList(FLAGS_stage);
  if (line.Given("model")) {
    const NetSource source = LoadNet(FLAGS_model, OverridesOf(line), phase, FLAGS_level, stages);
    LogWarnings(source.warnings);
    return {understand(source), 0};
  }
  const SolverSpec solver = LoadSolver(FLAGS_solver, OverridesOf(line), FLAGS_level, stages);
  LogWarnings(solver.warnings);
  if (phase == TRAIN) return {understand(solver.train), 0};
  if (solver.tests.empty()) {
    throw UserError(SourceLoc{FLAGS_solver},
                    "the solver names no net to test: add test_iter and test_interval, "
                    "or use --model");
  }
  return {understand(solver.tests[0]), solver.tests[0].iterations};
}

std::optional<Preprocessing> LoadWeightFiles(const std::string& files, Net* net) {
  std::optional<Preprocessing> preprocessing;
  for (const std::string& path : SplitList(files)) {
    const WeightsFile file = ReadWeights(path);
    LogReport(CopyWeights(file, net->graph(), net->plan().param_index, &net->params()), path);
    if (file.preprocessing) preprocessing = file.preprocessing;
  }
  return preprocessing;
}

int64_t ParameterCount(const Graph& graph) {
  int64_t count = 0;
  for (const GraphParam& param : graph.params) count += param.shape.count();
  return count;
}

}  // namespace doppio
