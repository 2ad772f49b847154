#include "tools/train/nets.h"

#include <algorithm>
#include <cctype>

#include "core/base/whole_number.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/weights.h"
#include "tools/train/devices.h"
#include "tools/cli/flags.h"
#include "tools/train/layer_detail.h"
#include "tools/train/lint.h"

namespace doppio {
namespace {

// Parses "off", "auto", or an integer in [least, most]. Throws UsageError for other values.
int64_t OffAutoOr(const std::string& flag, const std::string& value, int64_t least, int64_t most,
                  int64_t off, int64_t automatic) {
  if (value == "off") return off;
  if (value == "auto") return automatic;
  const std::optional<int64_t> number = ParseWholeNumber(value);
  if (!number || *number < least || *number > most) {
    throw UsageError("--" + flag + " wants off, auto" + (flag == "recompute" ? ", light" : "") +
                     " or a number from " + std::to_string(least) + " to " + std::to_string(most) +
                     ", got '" + value + "'");
  }
  return *number;
}

// Returns the settings of --recompute and --offload. Throws UsageError.
MemorySaving SavingFromFlags(const Flags& flags) {
  constexpr int64_t kMostSegments = 1000, kMostMegabytes = 100'000'000;
  MemorySaving saving;
  saving.light = flags.recompute == "light";
  saving.segments =
      saving.light
          ? 0
          : static_cast<int>(OffAutoOr("recompute", flags.recompute, 2, kMostSegments, 1, 0));
  const int64_t megabytes = OffAutoOr("offload", flags.offload, 1, kMostMegabytes, -1, 0);
  saving.activation_bytes = megabytes > 0 ? megabytes << 20 : megabytes;
  return saving;
}

}  // namespace

Phase PhaseFromFlags(const Flags& flags, Phase otherwise) {
  if (flags.phase.empty()) return otherwise;
  std::string upper;
  for (char c : flags.phase)
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  Phase phase;
  if (!Phase_Parse(upper, &phase)) {
    throw UsageError("--phase wants TRAIN or TEST, got '" + flags.phase + "'");
  }
  return phase;
}

Overrides OverridesOf(const CommandLine& line) {
  return ParseOverrides(line.flags.set, line.flags.unset);
}

NetOptions OptionsFromFlags(const Flags& flags, Phase phase, DataMode data) {
  if (flags.batch < 0 || flags.batch > INT32_MAX) {
    throw UsageError("--batch wants a number of images, got " + std::to_string(flags.batch));
  }
  if (flags.data_threads < 0) {
    throw UsageError("--data_threads wants 0 or more, got " + std::to_string(flags.data_threads));
  }
  NetOptions options;
  options.phase = phase;
  options.data = data;
  options.batch = flags.batch;
  options.data_threads = flags.data_threads;
  options.stored = StoredFromFlags(flags);
  options.seed = flags.seed >= 0 ? static_cast<uint64_t>(flags.seed) : 1;
  return options;
}

void CheckEngine(const Flags& flags, const std::string& device) {
  if (flags.engine.empty()) return;
  const std::vector<std::string> engines = KernelTypes::Get().Engines(device);
  if (std::find(engines.begin(), engines.end(), flags.engine) != engines.end()) return;
  throw UsageError("--engine: no kernel for this device (" + device + ") has the engine '" +
                   flags.engine + "'; its engines are " + Join(engines, ", "));
}

PlanOptions PlanFromFlags(const Flags& flags, Device* device) {
  PlanOptions options;
  options.device = device;
  CheckEngine(flags, device->kind());
  options.engine = flags.engine;
  options.fusion = flags.fusion;
  options.saving = SavingFromFlags(flags);
  return options;
}

FlaggedNet NetFromFlags(const CommandLine& line, Phase phase, DataMode data, int64_t batch) {
  if (line.Given("model") && line.Given("solver")) {
    throw UsageError("--model and --solver both name a net; give one of them");
  }
  NetOptions options = OptionsFromFlags(line.flags, phase, data);
  if (batch > 0) options.batch = batch;
  auto understand = [&](const NetSource& source) {
    return MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
  };
  const std::vector<std::string> stages = SplitList(line.flags.stage);
  if (line.Given("model")) {
    const NetSource source =
        LoadNet(line.flags.model, OverridesOf(line), phase, line.flags.level, stages);
    LogWarnings(source.warnings);
    return {understand(source), 0};
  }
  const SolverSpec solver =
      LoadSolver(line.flags.solver, OverridesOf(line), line.flags.level, stages);
  LogWarnings(solver.warnings);
  if (phase == TRAIN) return {understand(solver.train), 0};
  if (solver.tests.empty()) {
    throw UserError(SourceLoc{line.flags.solver},
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
