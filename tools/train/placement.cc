#include "tools/train/placement.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/base/bytes.h"
#include "core/net/graph/place_layers.h"
#include "core/net/spec/place_rule.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/cluster/joined.h"
#include "tools/train/devices.h"
#include "tools/train/nets.h"
#include "tools/train/reserved_device.h"
#include "tools/train/solver_check.h"

namespace doppio {
namespace {

constexpr int kPlainBatch = 1;

// Throws UsageError if another flag does not work with layers on several devices.
void CheckOtherFlags(const Flags& flags, const std::string& places) {
  const std::pair<bool, const char*> others[] = {
      {!flags.gpu.empty(), "--gpu, which asks for one device or for a replica on each"},
      {flags.cpu_replicas > 1, "--cpu_replicas"},
      {!flags.elastic.empty(), "--elastic"},
      {flags.shard_update, "--shard_update"},
      {LaunchFromFlags(flags).size > 1, "the replicas of a launcher"},
      {flags.recompute != "off", "--recompute"},
      {flags.offload != "off", "--offload"}};
  for (const auto& [given, name] : others) {
    if (!given) continue;
    throw UsageError("the layers of the net are placed on " + places +
                     ", which does not work with " + name + "; leave out one of them");
  }
}

std::unique_ptr<Device> OpenPlace(const Flags& flags, const std::string& name, int part, int parts,
                                  bool reserve) {
  const DeviceName parsed = *ParseDeviceName(name);
  if (!parsed.gpu) return reserve ? MakeReservedDevice() : MakeCpuPart({part, parts}, name);
  try {
    return OpenGpu(flags, parsed.index);
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "a layer is placed on " + name);
  }
}

bool Placed(const Flags& flags, const NetParameter& net) {
  return !flags.place.empty() || flags.microbatches != kPlainBatch ||
         std::any_of(net.layer().begin(), net.layer().end(),
                     [](const LayerParameter& layer) { return !layer.device().empty(); });
}

int Stages(const Graph& graph) {
  int last = 0;
  for (const Node& node : graph.nodes) last = std::max(last, node.stage);
  return last + 1;
}

int64_t MovedBytes(const std::vector<PlanStep>& steps) {
  int64_t bytes = 0;
  for (const PlanStep& step : steps) bytes += step.kind == StepKind::kMove ? step.from.bytes() : 0;
  return bytes;
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
  if (net.microbatches() > 1) out << "for each of " << net.microbatches() << " micro-batches\n";
  for (size_t i = 0; i < graph.places.size(); ++i)
    out << graph.places[i] << ": " << Bytes(net.microbatches() * net.plan().device_bytes[i])
        << " of activations, their gradients and workspace\n";
}

}  // namespace

PlacedDevices OpenPlaces(const Flags& flags, const Graph& graph, bool reserve) {
  PlacedDevices devices;
  const std::vector<std::string>& places = graph.places;
  if (places.size() < 2) {
    if (graph.spec.options.microbatches > 1) {
      throw UsageError(
          "--microbatches works on layers that --place puts on several devices, but one device "
          "computes this net; add --place, or use iter_size in the solver");
    }
    if (!places.empty() && flags.gpu.empty() && ParseDeviceName(places[0])->gpu) {
      throw UsageError("all layers are placed on " + places[0] + "; use --gpu=" +
                       std::to_string(ParseDeviceName(places[0])->index) + " instead");
    }
    return devices;
  }
  CheckOtherFlags(flags, Join(places, ", "));
  const int parts = static_cast<int>(places.size());
  for (int part = 0; part < parts; ++part) {
    devices.owned.push_back(OpenPlace(flags, places[part], part, parts, reserve));
    devices.by_name[places[part]] = devices.owned.back().get();
  }
  return devices;
}

PlacedDevices OpenPlaces(const Flags& flags, const NetSource& net, bool reserve) {
  if (!Placed(flags, net.net)) return {};
  return OpenPlaces(flags, AssumedGraph(flags, net), reserve);
}

bool TakeGpu(PlacedDevices* placed, std::unique_ptr<Device>* device) {
  if (placed->owned.empty() || placed->owned[0]->host_memory()) return false;
  *device = std::move(placed->owned[0]);
  return true;
}

std::string PlacementText(const Net& net) {
  const Plan& plan = net.plan();
  if (plan.devices.size() < 2) return "";
  std::vector<std::string> devices;
  for (size_t i = 0; i < plan.devices.size(); ++i) {
    devices.push_back(plan.devices[i]->name() + " with " +
                      std::to_string(LayersAt(net.graph(), static_cast<int>(i))) + " layers");
  }
  const int64_t parts = net.microbatches();
  std::string text = "layers on " + Join(devices, " and ") + ", " +
                     std::to_string(Stages(net.graph())) + " stages";
  if (parts > 1)
    text +=
        ", " + std::to_string(parts) + " micro-batches of " + std::to_string(BatchOf(net.graph()));
  return text + "; " + Bytes(parts * MovedBytes(plan.forward)) +
         " move between devices in forward, " + Bytes(parts * MovedBytes(plan.backward)) +
         " in backward";
}

std::vector<std::string> PlacementLines(const Flags& flags, const Net& net) {
  std::vector<std::string> lines;
  if (net.plan().devices.size() > 1) lines.push_back(PlacementText(net));
  if (!flags.log_placement) return lines;
  std::ostringstream text;
  PrintPlacement(net, text);
  std::istringstream rows(text.str());
  for (std::string line; std::getline(rows, line);) lines.push_back(line);
  return lines;
}

}  // namespace doppio
