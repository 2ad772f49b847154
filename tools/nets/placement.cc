#include "tools/nets/placement.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/base/bytes.h"
#include "core/net/contract/place_rule.h"
#include "core/net/graph/place_layers.h"
#include "solvers/trainer/features.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/nets/devices.h"
#include "tools/nets/reserved_device.h"
#include "tools/nets/solver_check.h"

namespace doppio {
namespace {

std::unique_ptr<Device> OpenPlace(const DeviceOptions& options, const std::string& name, int part,
                                  int parts, bool reserve) {
  const DeviceName parsed = *ParseDeviceName(name);
  if (!parsed.gpu) return reserve ? MakeReservedDevice() : MakeCpuPart({part, parts}, name);
  try {
    return OpenGpu(options, parsed.index);
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "a layer is placed on " + name);
  }
}

bool Placed(const NetOptions& options, const NetParameter& net) {
  return !options.place.empty() || options.microbatches != 1 ||
         std::any_of(net.layer().begin(), net.layer().end(),
                     [](const LayerParameter& layer) { return !layer.device().empty(); });
}

int Stages(const Graph& graph) {
  int last = 0;
  for (const Node& node : graph.nodes) last = std::max(last, node.stage);
  return last + 1;
}

// Returns the bytes that move between devices in all micro-batches.
int64_t MovedBytes(const Net& net, std::vector<PlanStep> Plan::*steps) {
  int64_t bytes = 0;
  for (const Net* part : net.microbatches()) {
    const Plan& plan = part->plan();
    for (const PlanStep& step : plan.*steps) {
      const bool moves =
          step.kind == StepKind::kMove && plan.devices[step.place] != plan.devices[step.peer];
      bytes += moves ? step.from.bytes() : 0;
    }
  }
  return bytes;
}

// Returns the bytes of activations and scratch memory of all micro-batches on a device.
int64_t ActivationsOn(const Net& net, const std::string& device) {
  int64_t bytes = 0;
  const std::vector<Net*>& parts = net.microbatches();
  for (size_t place = 0; place < net.graph().places.size(); ++place) {
    const std::vector<std::string> names = DevicesOfPlace(net.graph().places[place]);
    for (size_t part = 0; part < parts.size(); ++part) {
      if (names[part % names.size()] == device) bytes += parts[part]->plan().device_bytes[place];
    }
  }
  return bytes;
}

// Throws UsageError if the devices of a place do not get equal numbers of micro-batches.
void CheckMicrobatches(const Graph& graph) {
  const size_t parts = graph.spec.options.microbatches;
  for (const std::string& place : graph.places) {
    const size_t devices = DevicesOfPlace(place).size();
    if (parts % devices == 0) continue;
    throw UsageError("layers are placed on the " + std::to_string(devices) + " devices " + place +
                     ", which take micro-batches in turn, but the batch is divided into " +
                     std::to_string(parts) + "; use --microbatches=" + std::to_string(devices) +
                     " or a multiple of it");
  }
}

void AddMoves(const Net& net, const std::vector<PlanStep>& steps, TextTable* table) {
  const Graph& graph = net.graph();
  for (const PlanStep& step : steps) {
    if (step.kind != StepKind::kMove) continue;
    const std::string &reader = graph.places[step.place], &maker = graph.places[step.peer];
    table->Add({graph.edges[step.edge].name + (step.backward ? " (gradient)" : ""),
                step.backward ? reader : maker, step.backward ? maker : reader,
                Bytes(step.from.bytes()), step.from.shape.ToString()});
  }
}

void PrintPlacement(const Net& net, std::ostream& out) {
  const Graph& graph = net.graph();
  if (net.plan().devices.size() < 2) {
    out << "one device, " << net.plan().devices[0]->name() << ", computes all layers\n";
    return;
  }
  TextTable layers({"layer", "type", "device", ">stage"});
  for (const int n : RunningOrder(graph)) {
    const Node& node = graph.nodes[n];
    layers.Add({graph.layer(n).name(), graph.layer(n).type(), graph.places[node.place],
                std::to_string(node.stage)});
  }
  layers.Print(out);
  TextTable moves({"move of", "from", "to", ">bytes", "shape"});
  AddMoves(net, net.plan().forward, &moves);
  AddMoves(net, net.plan().backward, &moves);
  out << '\n';
  moves.Print(out);
  if (net.microbatches().size() > 1)
    out << "for each of " << net.microbatches().size() << " micro-batches\n";
  for (const std::string& device : PlacedDeviceNames(graph))
    out << device << ": " << Bytes(ActivationsOn(net, device))
        << " of activations, their gradients and workspace\n";
}

}  // namespace

std::optional<Graph> CheckTraining(Features asked, const NetOptions& net,
                                   const SolverSpec& solver) {
  asked.Add(FeaturesOf(solver));
  std::optional<Graph> graph;
  if (Placed(net, solver.train.net)) {
    graph = AssumedGraph(net, solver.train);
    asked.Add(FeaturesOf(*graph));
  }
  CheckCombinations(asked);
  return graph;
}

PlacedDevices OpenPlaces(const DeviceOptions& options, Features asked, const Graph& graph,
                         bool reserve) {
  PlacedDevices devices;
  const std::vector<std::string>& places = graph.places;
  if (places.empty() && graph.spec.options.microbatches == 1) return devices;
  asked.Add(FeaturesOf(graph));
  CheckCombinations(asked);
  const std::vector<std::string> names = PlacedDeviceNames(graph);
  if (places.size() < 2) {
    if (names.size() > 1) {
      throw UsageError("all layers are placed on " + places[0] +
                       "; place some of them on one device, or "
                       "use replicas of the whole net: --gpu=0,1 or --cpu_replicas=2");
    }
    if (!places.empty() && options.gpu.empty() && ParseDeviceName(places[0])->gpu) {
      throw UsageError("all layers are placed on " + places[0] + "; use --gpu=" +
                       std::to_string(ParseDeviceName(places[0])->index) + " instead");
    }
    return devices;
  }
  CheckMicrobatches(graph);
  const int parts = static_cast<int>(names.size());
  for (int part = 0; part < parts; ++part) {
    devices.owned.push_back(OpenPlace(options, names[part], part, parts, reserve));
    devices.by_name[names[part]] = devices.owned.back().get();
  }
  return devices;
}

bool TakeGpu(PlacedDevices* placed, std::unique_ptr<Device>* device) {
  if (placed->owned.empty() || placed->owned[0]->properties.host_memory) return false;
  *device = std::move(placed->owned[0]);
  return true;
}

std::string PlaceText(const Net& net, int place) {
  const std::vector<Net*>& parts = net.microbatches();
  const size_t used = std::min(parts.size(), DevicesOfPlace(net.graph().places[place]).size());
  std::vector<std::string> names;
  for (size_t i = 0; i < used; ++i) names.push_back(parts[i]->plan().devices[place]->name());
  return Join(names, " + ");
}

std::string PlacementText(const Net& net) {
  const Plan& plan = net.plan();
  if (plan.devices.size() < 2) return "";
  std::vector<std::string> devices;
  for (int place = 0; place < static_cast<int>(plan.devices.size()); ++place) {
    devices.push_back(PlaceText(net, place) + " with " +
                      std::to_string(LayersAt(net.graph(), place)) + " layers");
  }
  const size_t parts = net.microbatches().size();
  std::string text = "layers on " + Join(devices, " and ") + ", " +
                     std::to_string(Stages(net.graph())) + " stages";
  if (parts > 1)
    text +=
        ", " + std::to_string(parts) + " micro-batches of " + std::to_string(BatchOf(net.graph()));
  text += "; " + Bytes(MovedBytes(net, &Plan::forward)) + " move between devices in forward, " +
          Bytes(MovedBytes(net, &Plan::backward)) + " in backward";
  const MemoryUse& memory = plan.memory;
  if (memory.replica_params > 0)
    text += "; " + Bytes(memory.replica_params) + " of parameters are copied to replicas of layers";
  if (memory.replica_grads > 0)
    text +=
        "; " + Bytes(memory.replica_grads) + " of gradients are added between replicas of layers";
  return text;
}

std::vector<std::string> PlacementLines(const Net& net, bool details) {
  std::vector<std::string> lines;
  if (net.plan().devices.size() > 1) lines.push_back(PlacementText(net));
  if (!details) return lines;
  std::ostringstream text;
  PrintPlacement(net, text);
  std::istringstream rows(text.str());
  for (std::string line; std::getline(rows, line);) lines.push_back(line);
  return lines;
}

}  // namespace doppio
