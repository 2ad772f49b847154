#include "tools/nets/nets.h"

#include "core/base/text/whole_number.h"
#include "core/net/contract/place_rule.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/weights.h"
#include "solvers/trainer/empty_statistics.h"
#include "tools/cli/flags.h"
#include "tools/cli/word_list.h"
#include "tools/nets/devices.h"
#include "tools/nets/lint.h"

namespace doppio {
namespace {

// Parses "off", "auto", or an integer in [least, most]. Throws UsageError for other values.
int64_t OffAutoOr(const std::string& flag, const std::string& value, int64_t least, int64_t most,
                  int64_t off, int64_t automatic) {
  if (value == "off") return off;
  if (value == "auto") return automatic;
  const std::optional<int64_t> number = ParseWholeNumber(value);
  if (!number || *number < least || *number > most) {
    throw UsageError("--" + flag + " needs off, auto" + (flag == "recompute" ? ", light" : "") +
                     " or a number from " + std::to_string(least) + " to " + std::to_string(most) +
                     "; got '" + value + "'");
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
  const std::string phase = Upper(flags.phase);
  CheckValue("phase", phase, {"TRAIN", "TEST"});
  return phase == "TRAIN" ? TRAIN : TEST;
}

Overrides OverridesOf(const CommandLine& line) {
  return ParseOverrides(line.flags.set, line.flags.unset);
}

NetSource LoadFlaggedNet(const CommandLine& line, const std::string& path, Phase phase) {
  return LoadNet(path, OverridesOf(line), phase, line.flags.level, SplitList(line.flags.stage));
}

SolverSpec LoadFlaggedSolver(const CommandLine& line) {
  return LoadSolver(line.flags.solver, OverridesOf(line), line.flags.level,
                    SplitList(line.flags.stage));
}

uint64_t SeedFromFlags(const Flags& flags) {
  return flags.seed >= 0 ? static_cast<uint64_t>(flags.seed) : 1;
}

NetOptions OptionsFromFlags(const Flags& flags, Phase phase, DataMode data) {
  NetOptions options;
  options.phase = phase;
  options.data = data;
  options.batch = InRange("batch", flags.batch, 0, INT32_MAX);
  options.data_threads = flags.data_threads;
  options.stored = StoredFromFlags(flags);
  options.seed = SeedFromFlags(flags);
  options.place = ParsePlaceRules(flags.place);
  options.microbatches = static_cast<int>(InRange("microbatches", flags.microbatches, 1, 1024));
  return options;
}

void CheckEngine(const Flags& flags, const std::string& device) {
  if (flags.engine.empty()) return;
  const std::vector<std::string> engines = KernelTypes::Get().Engines(device);
  if (Contains(engines, flags.engine)) return;
  throw UsageError("--engine: no kernel for this device (" + device + ") has the engine '" +
                   flags.engine + "'; its engines are " + Join(engines, ", "));
}

Winograd WinogradFromFlags(const Flags& flags) {
  CheckValue("winograd", flags.winograd, {"auto", "on", "off"});
  if (flags.winograd == "auto") return Winograd::kAuto;
  return flags.winograd == "on" ? Winograd::kOn : Winograd::kOff;
}

PlanOptions PlanFromFlags(const Flags& flags, Device* device) {
  PlanOptions options;
  options.device = device;
  CheckEngine(flags, device->kind());
  options.engine = flags.engine;
  options.fusion = flags.fusion;
  options.winograd = WinogradFromFlags(flags);
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
    Graph graph = MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
    if (batch > 0) return graph;  // a second net of the same file
    LogWarnings(LayerWarnings(graph));
    LogWarnings(StatisticsOfBatches(graph));
    return graph;
  };
  if (line.Given("model")) {
    const NetSource source = LoadFlaggedNet(line, line.flags.model, phase);
    LogWarnings(source.warnings);
    return {understand(source), 0};
  }
  const SolverSpec solver = LoadFlaggedSolver(line);
  LogWarnings(solver.warnings);
  if (phase == TRAIN) return {understand(solver.train), 0};
  if (solver.tests.empty()) {
    throw UserError(
        SourceLoc{line.flags.solver},
        "the solver names no net to test: add test_iter and test_interval, or use --model");
  }
  return {understand(solver.tests[0]), solver.tests[0].iterations,
          ReadPrecisionRule(solver.param, solver.places)};
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
