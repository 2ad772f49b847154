#include "solvers/trainer/run_id.h"

#include "core/base/error.h"
#include "core/base/random.h"

namespace doppio {

uint64_t RunIdOf(const SolverSpec& solver, const std::vector<std::string>& weights, uint64_t seed,
                 int64_t samples_per_iteration) {
  SolverParameter rule = solver.param;
  for (const char* field : {"max_iter",
                            "max_epoch",
                            "display",
                            "average_loss",
                            "test_iter",
                            "test_interval",
                            "test_epoch",
                            "test_initialization",
                            "test_compute_loss",
                            "test_net",
                            "test_net_param",
                            "test_state",
                            "snapshot",
                            "snapshot_epoch",
                            "snapshot_prefix",
                            "snapshot_format",
                            "snapshot_diff",
                            "snapshot_after_train",
                            "debug_info",
                            "random_seed",
                            "net",
                            "net_param",
                            "train_net",
                            "train_net_param",
                            "weights",
                            "test_last"}) {
    const auto* const known = SolverParameter::descriptor()->FindFieldByName(field);
    DOPPIO_CHECK(known != nullptr, field);
    SolverParameter::GetReflection()->ClearField(&rule, known);
  }
  std::string text = rule.SerializeAsString() + solver.train.net.SerializePartialAsString();
  for (const std::string& file : weights) text += file + '\n';
  return Stream(text, std::to_string(seed) + " " + std::to_string(samples_per_iteration));
}

}  // namespace doppio
