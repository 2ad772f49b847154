// `check`, `summary`, `train --dry_run` and the training accept the same nets, see the same shapes,
// and plan at least the memory that the training takes.
#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/net/contract/carried_state.h"
#include "core/net/plan/plan.h"
#include "solvers/update/apply.h"
#include "tests/random/relation.h"
#include "tools/nets/reserved_device.h"
#include "tools/nets/solver_check.h"

namespace doppio {
namespace {

// Shares and bytes for what no plan counts, such as constants.
constexpr double kUnplanned = 0.02, kOverplanned = 0.1;
constexpr int64_t kUnplannedBytes = 4 << 10;

// What a net looks like to a command.
struct View {
  std::vector<Shape> shapes;  // of all blobs, in the order of the layers
  std::string text;           // "conv1 2x3x4x4"
};

View ViewOf(const Graph& graph) {
  View view;
  for (const Edge& edge : graph.edges) {
    view.shapes.push_back(edge.shape);
    view.text += edge.name + " " + edge.shape.ToString() + "; ";
  }
  return view;
}

// The nets that a command has built, or why it refuses them.
struct Seen {
  std::vector<View> nets;
  std::string refused;
  int64_t planned = 0;  // bytes
};

template <class F>
Seen Look(const F& f) {
  Seen seen;
  ErrorCollector mistakes;
  mistakes.Try([&] { f(&seen); });
  for (const Error& e : mistakes.errors()) seen.refused += std::string(e.what()) + "\n";
  return seen;
}

Seen Checked(const std::string& path) {
  return Look([&](Seen* seen) {
    const SolverSpec solver = LoadSolver(path);
    CheckRules(solver);
    CheckFiles(solver);
    const auto check = [&](const NetSource& source) {
      const Graph graph = AssumedGraph(NetOptions(), source);
      for (const Error& missing : MissingFiles(graph)) throw missing;
      seen->nets.push_back(ViewOf(graph));
    };
    check(solver.train);
    for (const TestNetSource& test : solver.tests) check(test);
  });
}

// Plans as `summary` does, without data.
void PlanSummary(Graph graph, bool backward) {
  for (LayerSpec& layer : graph.spec.layers) layer.options.data = DataMode::kSynthetic;
  const std::unique_ptr<Device> device = MakeReservedDevice();
  ParamStore params(device.get(), DType::kFloat32, 1);
  PlanOptions options;
  options.device = device.get();
  options.backward = backward;
  options.runs = false;
  options.accumulate = false;
  options.gradients_consumed = backward && !graph.spec.debug_info;
  MakePlan(graph, options, &params);
}

Seen Summarized(const std::string& path) {
  return Look([&](Seen* seen) {
    const SolverSpec solver = LoadSolver(path);
    const auto plan = [&](const NetSource& source, bool backward) {
      Graph graph = AssumedGraph(NetOptions(), source);
      seen->nets.push_back(ViewOf(graph));
      PlanSummary(std::move(graph), backward);
    };
    plan(solver.train, true);
    for (const TestNetSource& test : solver.tests) plan(test, false);
  });
}

Seen SeenBy(const Trainer& trainer) {
  Seen seen;
  seen.nets.push_back(ViewOf(trainer.train_net().graph()));
  seen.planned = trainer.train_net().plan().memory.total();
  for (const auto& net : trainer.test_nets()) {
    seen.nets.push_back(ViewOf(net->graph()));
    seen.planned += net->plan().memory.now();
  }
  for (const auto& net : trainer.parts().nets.last_tests()) {
    if (net != nullptr) seen.planned += net->plan().memory.now();
  }
  return seen;
}

Seen Rehearsed(const std::string& path) {
  return Look([&](Seen* seen) {
    const std::unique_ptr<Device> device = MakeReservedDevice();
    TrainerOptions options;
    options.plan.device = device.get();
    options.plan.runs = false;
    const Trainer trainer(LoadSolver(path), options);
    *seen = SeenBy(trainer);
  });
}

std::string CompareNets(const std::string& command, const Seen& seen, const Seen& trained) {
  if (!seen.refused.empty()) return command + " refuses what is trained: " + seen.refused;
  if (seen.nets.size() != trained.nets.size()) return command + " sees other nets";
  for (size_t i = 0; i < seen.nets.size(); ++i) {
    if (seen.nets[i].text != trained.nets[i].text) {
      return command + " sees other shapes: " + seen.nets[i].text + " instead of " +
             trained.nets[i].text;
    }
  }
  return "";
}

std::string CompareMemory(int64_t planned, int64_t taken) {
  const auto plan = static_cast<double>(planned), peak = static_cast<double>(taken);
  const auto few = static_cast<double>(kUnplannedBytes);
  const bool too_few = peak > plan * (1 + kUnplanned) + few;
  const bool too_many = plan > peak * (1 + kOverplanned) + few;
  if (!too_few && !too_many) return "";
  std::ostringstream text;
  text << "the plan says " << planned << " bytes, and the training takes " << taken;
  return text.str();
}

std::string CheckAccepted(const RandomCase& random_case, Draw*, const std::string& folder) {
  Way way;
  way.folder = folder;
  way.device = &MakeReservedDevice;  // counts bytes without rounding them up
  Seen trained;
  int64_t planned = 0, taken = 0;
  way.before = [&](Trainer* trainer) { trained = SeenBy(*trainer); };
  way.after = [&](Trainer* trainer) {
    // A source of several sizes may have changed the plan.
    planned = std::max(trained.planned, SeenBy(*trainer).planned);
    // The update keeps a chunk of zeros for parameters without a gradient.
    planned += std::min(kUpdateChunk, trainer->params().arenas().values().count()) *
               static_cast<int64_t>(sizeof(float));
    taken = trainer->params().device()->peak_bytes();
  };
  const Outcome outcome = Run(random_case, way);
  const std::string path = WriteCase(random_case, way);
  const ThreadCount threads(way.threads);
  const Seen checked = Checked(path), summarized = Summarized(path), dry = Rehearsed(path);
  if (!outcome.refused.empty()) {
    // The numbers in the data may be wrong for a layer, which only a pass shows.
    const bool begun = !trained.nets.empty();
    if (!begun && dry.refused.empty())
      return "the training refuses what --dry_run accepts: " + outcome.refused;
    Declined(outcome);
    return "";
  }
  const std::vector<std::pair<std::string, const Seen*>> commands = {
      {"check", &checked}, {"summary", &summarized}, {"--dry_run", &dry}};
  for (const auto& [command, seen] : commands) {
    const std::string why = CompareNets(command, *seen, trained);
    if (!why.empty()) return why;
  }
  if (dry.planned != trained.planned) {
    return "--dry_run plans " + std::to_string(dry.planned) + " bytes, and the training " +
           std::to_string(trained.planned);
  }
  return CompareMemory(planned, taken);
}

DOPPIO_REGISTER(Relations, "accepted", {&CheckAccepted, &Always});

}  // namespace
}  // namespace doppio
