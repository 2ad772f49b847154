// Decides how parameters are stored: their layouts, devices and gradient slices. The first kernel
// that computes with a parameter decides, also for the nets that share the parameter later. Only
// core/net/plan/plan*.cc include this header.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_PARAMS_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_PARAMS_H_

#include "core/net/plan/plan_draft.h"

namespace doppio {

// Decides for the parameters of one draft, unit by unit. All arguments must outlive this object.
class ParamLayouts {
 public:
  ParamLayouts(const Draft& draft, const Plan& plan, ParamStore* params);

  // Sets the members of `args` that describe the storage of the unit's parameters.
  void Describe(const Unit& unit, KernelArgs* args) const;

  // Stores the unit's parameters as its kernel needs them. Throws UserError if an earlier net has
  // placed a parameter on another device.
  void Adopt(const Unit& unit, const KernelNeeds& needs);

 private:
  void SetDevices(int node, Param* param, int store);

  const Draft& draft_;
  const std::vector<int>& store_index_;  // per parameter of the graph
  ParamStore& params_;
  std::vector<bool> decided_;  // per parameter of the store: true if its layout is fixed
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_PARAMS_H_
