#include "solvers/update/rule_check.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text/nearest.h"
#include "solvers/update/field_check.h"
#include "solvers/update/momentum_policy.h"
#include "solvers/update/rules.h"

namespace doppio {
namespace {

void CheckLocalRate(const SolverParameter& param, FieldCheck* check) {
  if (param.larc() && param.local_lr_auto()) {
    check->Add("local_lr_auto",
               "has larc (NVCaffe) and local_lr_auto (Intel Caffe), which both set the rate of "
               "each parameter by its norms; keep one of them");
  }
  check->OneOf("larc_policy", {"scale", "clip"});
  if (param.larc()) check->Positive("larc_eta");
  if (param.local_lr_auto()) check->Positive("local_gw_ratio");
}

// Adds a mistake if a solver uses `field` with a rule that does not support it. `supports(rule)`
// returns true for the rules that do.
template <class Rule, class Supports>
void CheckSupport(bool used, const char* field, const Supports& supports, FieldCheck* check) {
  if (!used || supports(Rule())) return;
  std::vector<std::string> rules;
  ForEachRule([&](auto rule) {
    if (supports(rule)) rules.push_back(decltype(rule)::kName);
  });
  check->Add(field, std::string(field) + " works with " + JoinList(rules, " and ") + ", not with " +
                        Rule::kName);
}

template <class Rule>
void CheckFields(const SolverParameter& param, FieldCheck* check) {
  if (!Rule::kMomentum && param.momentum() != 0) {
    check->Add("momentum", std::string(Rule::kName) + " has no momentum, but momentum is " +
                               NumberText(param.momentum()) + "; remove it or set it to 0");
  }
  if (Rule::kRmsDecay) check->InUnitInterval("rms_decay");
  if (Rule::kMomentum2) check->InUnitInterval("momentum");
  if (Rule::kMomentum2) check->InUnitInterval("momentum2");
  // With delta 0, elements whose gradients are always 0 would become 0/0, e.g. the padding of
  // blocked layouts.
  if (Rule::kDelta) check->Positive("delta");
  check->OneOf("regularization_type", {"L1", "L2"});
  const auto momentum_policy = [](auto rule) { return decltype(rule)::kMomentumPolicy; };
  const auto local_rate = [](auto rule) { return decltype(rule)::kLocalRate; };
  CheckSupport<Rule>(param.momentum_policy() != "fixed", "momentum_policy", momentum_policy, check);
  CheckSupport<Rule>(param.larc(), "larc", local_rate, check);
  CheckSupport<Rule>(param.local_lr_auto(), "local_lr_auto", local_rate, check);
}

// Returns the index in Rules of the rule that the solver names.
size_t FindRule(const SolverParameter& param, const FieldPlaces& places) {
  const std::vector<std::string> names = RuleNames();
  const auto it = std::find(names.begin(), names.end(), param.type());
  if (it != names.end()) return static_cast<size_t>(it - names.begin());
  throw UserError(places.At("type"), "unknown solver type '", param.type(), "'",
                  DidYouMean(param.type(), names), " (", JoinList(names), ")");
}

}  // namespace

std::vector<std::string> RuleNames() {
  std::vector<std::string> names;
  ForEachRule([&](auto rule) { names.push_back(decltype(rule)::kName); });
  return names;
}

size_t CheckRule(const SolverParameter& param, const FieldPlaces& places) {
  ErrorCollector errors;
  FieldCheck check(param, places, &errors);
  size_t index = 0;
  errors.Try([&] {
    index = FindRule(param, places);
    VisitRule(index, [&](auto rule) {
      CheckFields<decltype(rule)>(param, &check);
      CheckMomentumPolicy(param, &check);
      CheckLocalRate(param, &check);
      check.InUnitInterval("ema_decay");
      check.Positive("layer_decay");
    });
  });
  errors.ThrowIfAny();
  return index;
}

std::string HistoryText(const SolverParameter& param) {
  return param.type() + (AveragesWeights(param) ? ", and averaged weights" : "");
}

int HistorySlots(const SolverParameter& param) {
  int slots = AveragesWeights(param) ? 1 : 0;
  ForEachRule([&](auto rule) {
    if (param.type() == decltype(rule)::kName) slots += decltype(rule)::kSlots;
  });
  return slots;
}

bool UpdatesMatrices(const SolverParameter& param) {
  bool matrices = false;
  ForEachRule([&](auto rule) {
    if (param.type() == decltype(rule)::kName) matrices = decltype(rule)::kMatrices;
  });
  return matrices;
}

}  // namespace doppio
