#include "solvers/trainer/features.h"

#include "solvers/trainer/update_step.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/rule_check.h"
#include "solvers/update/hyperparameters.h"

namespace doppio {

Features FeaturesOf(const SolverSpec& spec) {
  const SolverParameter& param = spec.param;
  Features features;
  const auto add = [&](bool used, Feature feature, const char* field) {
    features.AddIf(used, feature, "", spec.places.At(field));
  };
  const bool clips = param.clip_gradients() >= 0;
  add(param.iter_size() > 1, Feature::kIterSize, "iter_size");
  add(clips, Feature::kClipping, "clip_gradients");
  add(NeedsNorms(param) && !clips, Feature::kNormRates, "type");
  add(UpdatesMatrices(param), Feature::kMatrices, "type");
  add(RateNeedsLoss(param), Feature::kLossRate, "lr_policy");
  add(param.snapshot_diff(), Feature::kSnapshotDiff, "snapshot_diff");
  add(param.debug_info() || spec.train.net.debug_info(), Feature::kDebugInfo, "debug_info");
  const bool tests = param.test_interval() > 0 || param.test_epoch() > 0;
  add(tests && !spec.tests.empty(), Feature::kTestNet, "test_interval");
  return features;
}

Features FeaturesOf(const SolverSpec& spec, const TrainerOptions& options) {
  Features features = FeaturesOf(spec);
  const bool placed = !options.plan.places.empty();
  features.AddIf(placed, Feature::kPlace);
  features.AddIf(options.net.microbatches > 1, Feature::kMicrobatches);
  // The device of a placed net is one of those on which its layers are placed.
  features.AddIf(!placed && !options.plan.device->properties.host_memory, Feature::kGpu);
  features.AddIf(options.world != nullptr && options.world->size() > 1, Feature::kReplicas);
  features.AddIf(options.shard_update, Feature::kShardUpdate);
  features.AddIf(options.elastic.has_value(), Feature::kElastic);
  features.AddIf(options.elastic.has_value(), Feature::kProcesses);
  features.AddIf(options.plan.sync_statistics, Feature::kSyncBn);
  features.AddIf(options.plan.saving.segments != 1, Feature::kRecompute);
  features.AddIf(options.plan.saving.activation_bytes >= 0, Feature::kOffload);
  features.AddIf(ChooseLossScaling(spec, options).dynamic, Feature::kDynamicScale);
  features.AddIf(options.monitor.has_value(), Feature::kMonitor);
  features.AddIf(options.plan.keep_all, Feature::kScript);
  return features;
}

}  // namespace doppio
