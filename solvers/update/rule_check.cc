#include "solvers/update/rule_check.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "solvers/update/momentum_policy.h"
#include "solvers/update/rules.h"

namespace doppio {
namespace {

std::string NumberText(float value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void CheckLocalRate(const SolverParameter& param, const FieldPlaces& places,
                    ErrorCollector* errors) {
  if (param.larc() && param.local_lr_auto()) {
    errors->Add(
        places.At("local_lr_auto"),
        "has larc (NVCaffe) and local_lr_auto (Intel Caffe), which both set the rate of each "
        "parameter by its norms; keep one of them");
  }
  if (param.larc_policy() != "scale" && param.larc_policy() != "clip") {
    errors->Add(places.At("larc_policy"),
                "unknown larc_policy '" + param.larc_policy() + "'; known: scale, clip");
  }
  const auto positive = [&](const char* field, float value) {
    if (value > 0) return;
    errors->Add(places.At(field),
                std::string(field) + " is " + NumberText(value) + "; it must be above 0");
  };
  if (param.larc()) positive("larc_eta", param.larc_eta());
  if (param.local_lr_auto()) positive("local_gw_ratio", param.local_gw_ratio());
}

// Checks that the rule supports the policies and local rates that the solver uses, and checks their
// fields.
void CheckPolicies(const SolverParameter& param, const FieldPlaces& places, size_t index,
                   ErrorCollector* errors) {
  VisitRule(index, [&](auto r) {
    using Rule = decltype(r);
    const auto refuse = [&](bool used, const char* field, const char* rules) {
      if (!used) return;
      errors->Add(places.At(field),
                  std::string(field) + " works with " + rules + ", not with " + Rule::kName);
    };
    refuse(!Rule::kMomentumPolicy && param.momentum_policy() != "fixed", "momentum_policy",
           "SGD, Nesterov and SAG");
    refuse(!Rule::kLocalRate && param.larc(), "larc", "SGD and Nesterov");
    refuse(!Rule::kLocalRate && param.local_lr_auto(), "local_lr_auto", "SGD and Nesterov");
  });
  CheckMomentumPolicy(param, places, errors);
  CheckLocalRate(param, places, errors);
}

void CheckFields(const SolverParameter& param, const FieldPlaces& places, size_t index,
                 ErrorCollector* errors) {
  const std::string rule = RuleNames()[index];
  bool momentum_allowed = true;
  VisitRule(index, [&](auto r) { momentum_allowed = decltype(r)::kMomentum; });
  if (!momentum_allowed && param.momentum() != 0) {
    errors->Add(places.At("momentum"), rule + " has no momentum, but momentum is " +
                                           NumberText(param.momentum()) +
                                           "; remove it or set it to 0");
  }
  auto in_zero_one = [&](const char* field, float value) {
    if (!(value >= 0 && value < 1)) {
      errors->Add(places.At(field), std::string(field) + " is " + NumberText(value) +
                                        "; it must be at least 0 and below 1");
    }
  };
  if (rule == RmsProp::kName) in_zero_one("rms_decay", param.rms_decay());
  if (rule == Adam::kName || rule == AdamW::kName || rule == Lamb::kName) {
    in_zero_one("momentum", param.momentum());
    in_zero_one("momentum2", param.momentum2());
  }
  const bool divides = rule != Sgd::kName && rule != Nesterov::kName && rule != Sag::kName;
  if (divides && !(param.delta() > 0)) {
    // With delta 0, elements whose gradients are always 0 would become 0/0, e.g. the padding of
    // blocked layouts.
    errors->Add(places.At("delta"),
                "delta is " + NumberText(param.delta()) + "; it must be above 0");
  }
  if (param.regularization_type() != "L1" && param.regularization_type() != "L2") {
    errors->Add(places.At("regularization_type"),
                "unknown regularization_type '" + param.regularization_type() + "'; known: L1, L2");
  }
  CheckPolicies(param, places, index, errors);
}

}  // namespace

std::vector<std::string> RuleNames() {
  return std::apply([](auto... rule) { return std::vector<std::string>{decltype(rule)::kName...}; },
                    Rules());
}

size_t FindRule(const SolverParameter& param, const FieldPlaces& places) {
  const std::string& name = param.type();
  const std::vector<std::string> names = RuleNames();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it != names.end()) return static_cast<size_t>(it - names.begin());
  std::string known;
  for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
  throw UserError(places.At("type"), "unknown solver type '" + name + "'" +
                                         DidYouMean(name, names) + " (" + known + ")");
}

void CheckRule(const SolverParameter& param, const FieldPlaces& places) {
  ErrorCollector errors;
  errors.Try([&] { CheckFields(param, places, FindRule(param, places), &errors); });
  errors.ThrowIfAny();
}

int HistorySlots(const SolverParameter& param) {
  const std::vector<std::string> names = RuleNames();
  int slots = 0;
  VisitRule(
      static_cast<size_t>(std::find(names.begin(), names.end(), param.type()) - names.begin()),
      [&](auto rule) { slots = decltype(rule)::kSlots; });
  return slots;
}

}  // namespace doppio
