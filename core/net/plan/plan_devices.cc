// Finds the devices of a plan and checks their memory.
#include "core/net/plan/plan_draft.h"

namespace doppio {

std::vector<Device*> DevicesOf(const Graph& graph, const PlanOptions& options) {
  if (options.places.empty() || graph.places.size() < 2) return {options.device};
  std::vector<Device*> devices;
  for (const std::string& name : graph.places) {
    const auto device = options.places.find(name);
    if (device == options.places.end()) {
      throw UserError(graph.spec.at, "a layer of net '" + graph.spec.name + "' is placed on " +
                                         name + ", which no layer of the train net uses");
    }
    devices.push_back(device->second);
  }
  return devices;
}

void CheckFits(const Graph& graph, const Plan& plan, const PlanOptions& options,
               const ParamStore& params) {
  if (options.microbatch > 0) return;  // the first micro-batch has counted all of them
  if (plan.devices.size() == 1 || options.device->host_memory())
    return plan.memory.CheckFits(options.device->free_bytes(), *options.device);
  const int64_t microbatches = graph.spec.options.microbatches;
  for (size_t i = 0; i < plan.devices.size(); ++i) {
    Device* const device = plan.devices[i];
    MemoryNeed need = plan.memory;
    need.at_batch = nullptr;
    need.activations = microbatches * plan.device_bytes[i];
    need.scratch = need.params = need.param_grads = need.history = need.exchange = 0;
    for (const ParamArena& arena : params.arenas()) {
      if (arena.device != device || arena.values.data() != nullptr) continue;
      need.params = arena.size * ElementBytes(params.dtype());
      need.param_grads = arena.grads_bytes;
      need.history = options.history_slots * need.params;
    }
    need.CheckFits(device->free_bytes(), *device);
  }
}

}  // namespace doppio
