#include "tools/solver_check.h"

#include <algorithm>
#include <memory>

#include "solvers/loss_scaler.h"
#include "solvers/lr_policy.h"
#include "solvers/update.h"
#include "tools/nets.h"
#include "tools/reserved_device.h"

namespace doppio {

void CheckRules(const SolverSpec& spec) {
  ErrorCollector mistakes;
  mistakes.Try([&] { LossScalingOf(spec.train.net, spec.train.places); });
  mistakes.Try([&] { LrPolicy(spec.param, spec.places, std::max(1, spec.param.max_iter())); });
  mistakes.Try([&] {
    const std::unique_ptr<Device> device = MakeReservedDevice();
    ParamStore none(device.get(), DType::kFloat32, 0);
    Update(spec.param, spec.places, &none);
  });
  mistakes.ThrowIfAny();
}

Graph AssumedGraph(const NetSource& source) {
  return MakeGraph(MakeNetSpec(source.net, source.places, source.state,
                               OptionsFromFlags(source.state.phase(), DataMode::kAssume)));
}

}  // namespace doppio
