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

// Throws UsageError.
MemorySaving SavingOf(const ComputeOptions& options) {
  constexpr int64_t kMostSegments = 1000, kMostMegabytes = 100'000'000;
  MemorySaving saving;
  saving.light = options.recompute == "light";
  saving.segments =
      saving.light
          ? 0
          : static_cast<int>(OffAutoOr("recompute", options.recompute, 2, kMostSegments, 1, 0));
  const int64_t megabytes = OffAutoOr("offload", options.offload, 1, kMostMegabytes, -1, 0);
  saving.activation_bytes = megabytes > 0 ? megabytes << 20 : megabytes;
  return saving;
}

}  // namespace

Phase PhaseOr(const std::string& phase, Phase otherwise) {
  if (phase.empty()) return otherwise;
  CheckValue("phase", Upper(phase), {"TRAIN", "TEST"});
  return Upper(phase) == "TRAIN" ? TRAIN : TEST;
}

NetSource LoadNet(const NetFileOptions& options, const std::string& path, Phase phase) {
  return LoadNet(path, ParseOverrides(options.set, options.unset), phase, options.level,
                 SplitList(options.stage));
}

SolverSpec LoadSolver(const NetFileOptions& options) {
  return LoadSolver(options.solver, ParseOverrides(options.set, options.unset), options.level,
                    SplitList(options.stage));
}

uint64_t SeedOr1(int64_t seed) { return seed >= 0 ? static_cast<uint64_t>(seed) : 1; }

NetOptions MakeNetOptions(const NetInputOptions& options, const std::string& precision, Phase phase,
                          DataMode data) {
  NetOptions net;
  net.phase = phase;
  net.data = options.synthetic ? DataMode::kSynthetic : data;
  net.batch = InRange("batch", options.batch, 0, INT32_MAX);
  net.data_threads = options.data_threads;
  net.stored = StoredType(precision);
  net.seed = SeedOr1(options.seed);
  net.place = ParsePlaceRules(options.place);
  net.microbatches = static_cast<int>(InRange("microbatches", options.microbatches, 1, 1024));
  return net;
}

void CheckEngine(const std::string& engine, const std::string& device) {
  if (engine.empty()) return;
  const std::vector<std::string> engines = KernelTypes::Get().Engines(device);
  if (Contains(engines, engine)) return;
  throw UsageError("--engine: no kernel for this device (" + device + ") has the engine '" +
                   engine + "'; its engines are " + Join(engines, ", "));
}

PlanOptions MakePlanOptions(const ComputeOptions& options, Device* device) {
  CheckEngine(options.engine, device->kind());
  CheckValue("winograd", options.winograd, {"auto", "on", "off"});
  PlanOptions plan;
  plan.device = device;
  plan.engine = options.engine;
  plan.fusion = options.fusion;
  plan.engine_options["winograd"] = options.winograd;
  plan.saving = SavingOf(options);
  return plan;
}

NamedNet MakeNamedNet(const NetFileOptions& file, const NetOptions& options, bool again) {
  if (!file.model.empty() && !file.solver.empty()) {
    throw UsageError("--model and --solver both name a net; give one of them");
  }
  const auto make = [&](const NetSource& source) {
    Graph graph = MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
    if (again) return graph;
    LogWarnings(LayerWarnings(graph));
    LogWarnings(StatisticsOfBatches(graph));
    return graph;
  };
  if (!file.model.empty()) {
    const NetSource source = LoadNet(file, file.model, options.phase);
    LogWarnings(source.warnings);
    return {make(source), 0};
  }
  const SolverSpec solver = LoadSolver(file);
  LogWarnings(solver.warnings);
  if (options.phase == TRAIN) return {make(solver.train), 0};
  if (solver.tests.empty()) {
    throw UserError(
        SourceLoc{file.solver},
        "the solver names no net to test: add test_iter and test_interval, or use --model");
  }
  return {make(solver.tests[0]), solver.tests[0].iterations,
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
