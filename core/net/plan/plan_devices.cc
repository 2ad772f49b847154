// Finds the devices of a plan, and counts and checks their memory.
#include <algorithm>

#include "core/net/contract/place_rule.h"
#include "core/net/graph/place_layers.h"
#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

// Returns the devices of a place that compute micro-batches.
std::vector<Device*> UsedDevices(const Graph& graph, const PlanOptions& options, int place) {
  std::vector<Device*> devices;
  for (const std::string& name : DevicesOfPlace(graph.places[place])) {
    const auto device = options.places.find(name);
    if (device == options.places.end()) {
      throw UserError(graph.spec.at, "a layer of net '" + graph.spec.name + "' is placed on " +
                                         name + ", which no layer of the train net uses");
    }
    devices.push_back(device->second);
  }
  const size_t used = graph.spec.options.microbatches;
  devices.resize(std::min(devices.size(), used));
  return devices;
}

// Returns the bytes of activations, of scratch memory and of what kernels keep that all
// micro-batches need on a device.
int64_t ActivationsOn(const Device* device, const Graph& graph, const Plan& plan,
                      const PlanOptions& options) {
  int64_t bytes = 0;
  PlanOptions part = options;
  for (part.microbatch = 0; part.microbatch < graph.spec.options.microbatches; ++part.microbatch) {
    const std::vector<Device*> devices = DevicesOf(graph, part);
    for (size_t i = 0; i < devices.size(); ++i)
      bytes += devices[i] == device ? plan.device_bytes[i] : 0;
  }
  return bytes;
}

}  // namespace

std::vector<Device*> Draft::DevicesAt(int place) const {
  return devices.size() < 2 ? devices : UsedDevices(*graph, options, place);
}

std::vector<Device*> DevicesOf(const Graph& graph, const PlanOptions& options) {
  if (options.places.empty() || graph.places.size() < 2) return {options.device};
  std::vector<Device*> devices;
  for (size_t place = 0; place < graph.places.size(); ++place) {
    const auto used = UsedDevices(graph, options, static_cast<int>(place));
    devices.push_back(used[options.microbatch % used.size()]);
  }
  return devices;
}

void CountMemory(const Draft& draft, const ParamBytes& bytes, const ParamStore& params,
                 Plan* plan) {
  const PlanOptions& options = draft.options;
  const NetSpec& spec = draft.graph->spec;
  MemoryNeed& memory = plan->memory;
  static_cast<MemoryUse&>(memory) = draft.memory;
  for (size_t i = 0; i < draft.devices.size(); ++i)
    plan->device_bytes.push_back(draft.constants[i] + draft.arenas[i] + draft.scratch[i] +
                                 draft.kept[i]);
  // Each micro-batch has its own.
  for (int64_t* own : {&memory.activations, &memory.unshared, &memory.scratch, &memory.kept,
                       &plan->saved.plain_activations})
    *own *= spec.options.microbatches;
  memory.net = spec.options.phase == TRAIN ? "train net" : "test net";
  if (!spec.name.empty()) memory.net += " " + spec.name;
  memory.backward = options.backward;
  memory.batch = BatchOf(*draft.graph);
  memory.params = bytes.values;
  memory.unpadded_params = bytes.unpadded;
  memory.param_grads = bytes.grads;
  memory.replica_params = bytes.replica_values;
  memory.replica_grads = bytes.replica_grads;
  int64_t slot = 0, divided = 0;
  for (const ParamArena& arena : params.arenas().all()) {
    slot += arena.size;
    divided += arena.gradients_end;
  }
  const int64_t element_bytes = ElementBytes(params.dtype());
  memory.whole_history = options.history_slots * slot * element_bytes;
  memory.history = options.history_slots * element_bytes *
                   (slot - divided + (divided + options.history_ranks - 1) / options.history_ranks);
  if (options.update_scratch) memory.history += options.update_scratch(params.params());
  if (options.backward) memory.exchange = options.exchange_bytes * (bytes.grads / element_bytes);
}

void CheckFits(const Graph& graph, const Plan& plan, const PlanOptions& options,
               const ParamStore& params) {
  if (options.microbatch > 0) return;  // the first micro-batch has counted all of them
  if (plan.devices.size() == 1 || options.device->properties.host_memory)
    return plan.memory.CheckFits(options.device->free_bytes(), *options.device);
  for (const std::string& name : PlacedDeviceNames(graph)) {
    Device* const device = options.places.at(name);
    MemoryNeed need = plan.memory;
    need.at_batch = nullptr;
    need.activations = ActivationsOn(device, graph, plan, options);
    const ParamBytes bytes = params.BytesToAllocate(device);
    need.params = bytes.values;
    need.param_grads = bytes.grads;
    need.history = options.history_slots * (bytes.values - bytes.replica_values);
    need.scratch = need.kept = need.exchange = 0;
    need.CheckFits(device->free_bytes(), *device);
  }
}

}  // namespace doppio
