#include "core/net/plan/plan_params.h"

#include "core/net/plan/param_copies.h"

namespace doppio {

ParamLayouts::ParamLayouts(const Draft& draft, const Plan& plan, ParamStore* params)
    : draft_(draft), store_index_(plan.param_index), params_(*params) {
  for (const Param& param : params_.params()) decided_.push_back(param.placed());
  for (size_t p = 0; p < draft.graph->params.size(); ++p) {
    // Users with different shapes of one parameter can share only the plain layout.
    if (draft.graph->params[p].reshaped) decided_[store_index_[p]] = true;
  }
}

void ParamLayouts::Describe(const Unit& unit, KernelArgs* args) const {
  const PlanOptions& options = draft_.options;
  for (int p : unit.params) {
    const int store = store_index_[p];
    args->param_layouts.push_back(params_.params()[store].value.layout);
    args->param_placed.push_back(decided_[store]);
    args->param_may_add.push_back(options.accumulate || draft_.graph->params[p].uses > 1);
  }
  if (!options.gradients_consumed || unit.params.empty()) return;
  // A later plan over the same memory slices the same gradients.
  const Param& param = params_.param(store_index_[unit.params[0]]);
  if (!param.placed() || param.grad_slice > 0)
    args->gradient_slice_bytes = options.gradient_slice_bytes;
}

void ParamLayouts::Adopt(const Unit& unit, const KernelNeeds& needs) {
  for (size_t i = 0; i < unit.params.size(); ++i) {
    const int store = store_index_[unit.params[i]];
    Param& param = params_.param(store);
    SetDevices(unit.head(), &param, store);
    const Layout wanted = LayoutAt(needs.params, i);
    if (!decided_[store]) param.value.layout = wanted;
    decided_[store] = true;
    DOPPIO_CHECK(param.value.layout == wanted,
                 "a kernel that reads a parameter in another layout than it has");
    if (i > 0 || !draft_.options.gradients_consumed) continue;
    // Gives the gradient of a new parameter memory for `gradient_slice` elements; 0: for all.
    if (needs.gradient_slice > 0 && !param.placed()) param.grad_slice = needs.gradient_slice;
    DOPPIO_CHECK(param.grad_slice == needs.gradient_slice, "a gradient whose slices have changed");
  }
}

// Devices that compute on the host share the memory of the store's device. The first micro-batch
// decides for all.
void ParamLayouts::SetDevices(int node, Param* param, int store) {
  if (draft_.options.microbatch > 0) return;
  const std::vector<Device*> devices = draft_.DevicesAt(draft_.PlaceOf(draft_.graph->nodes[node]));
  Device* const device = devices[0];
  if (!param->placed()) {
    param->replicas.assign(devices.size() - 1, {});
    for (size_t i = 1; i < devices.size(); ++i) param->replicas[i - 1].device = devices[i];
    if (!device->properties.host_memory) params_.SetDevice(store, device);
    return;
  }
  if (device->properties.host_memory || param->device == device) return;
  throw draft_.graph->layer(node).Mistake(
      "device", "is placed on " + device->name() + ", but the train net has its parameters on " +
                    param->device->name() + "; place it there in all nets");
}

}  // namespace doppio
