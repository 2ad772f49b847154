#include "solvers/update/hyperparameters.h"

#include <cmath>

#include "solvers/update/lr_policy.h"
#include "solvers/update/momentum_policy.h"
#include "solvers/update/rule_check.h"

namespace doppio {
namespace {

// Returns the local rate for larc (NVCaffe) or local_lr_auto (Intel Caffe). LARC's eta depends on
// the momentum, which may change from update to update.
LocalRate LocalRateFor(const SolverParameter& param, double momentum, double weight_decay) {
  LocalRate local;
  local.on = param.larc() || param.local_lr_auto();
  local.clip = param.larc() && param.larc_policy() == "clip";
  local.eta = param.larc() ? param.larc_eta() * (1 - momentum) : param.local_gw_ratio();
  local.decay = param.larc() ? 0 : weight_decay;
  return local;
}

}  // namespace

bool NeedsNorms(const SolverParameter& param) {
  bool ratio = false;
  ForEachRule([&](auto rule) {
    if (param.type() == decltype(rule)::kName) ratio = decltype(rule)::kTrustRatio;
  });
  return ratio || param.clip_gradients() >= 0 || LocalRateFor(param, 0, 0).on;
}

Hyperparameters::Hyperparameters(const SolverParameter& param, const FieldPlaces& places,
                                 int64_t max_iter)
    : param_(param), max_iter_(max_iter), rule_(CheckRule(param, places)) {}

UpdateInputs Hyperparameters::At(double rate, int64_t iteration) const {
  UpdateInputs inputs;
  inputs.l1 = param_.regularization_type() == "L1";
  inputs.keep_steps = param_.snapshot_diff();
  inputs.decay = WeightDecayAt(param_, iteration, max_iter_);
  RuleScalars<double>& rule = inputs.rule;
  rule.momentum2 = param_.momentum2();
  rule.delta = param_.delta();
  rule.rms_decay = param_.rms_decay();
  rule.momentum = MomentumAt(param_, iteration, max_iter_, rate);
  inputs.local = LocalRateFor(param_, rule.momentum, inputs.decay);
  VisitRule(rule_, [&](auto r) {
    using Rule = decltype(r);
    if (Rule::kWarmupMomentum) rule.momentum *= WarmupMomentumFactor(param_, iteration);
    inputs.rate = rate * Rule::RateFactor(rule, iteration + 1);
  });
  const double t = static_cast<double>(iteration + 1);
  rule.unbias = 1 / (1 - std::pow(rule.momentum, t));
  rule.unbias2 = 1 / (1 - std::pow(rule.momentum2, t));
  return inputs;
}

}  // namespace doppio
