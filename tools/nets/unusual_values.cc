#include "tools/nets/unusual_values.h"

#include <sstream>

#include "solvers/update/lr_policy.h"

namespace doppio {
namespace {

struct UnusualValue {
  const char* field;
  float (*value)(const SolverParameter&);
  bool (*unusual)(const SolverParameter&);
  const char* effect;
};

bool UsesBaseRate(const SolverParameter& p) {
  return p.has_base_lr() && !HasTrait(p, LrPolicyTrait::kOwnRates);
}

const std::vector<UnusualValue>& Rows() {
  using P = SolverParameter;
  static const auto* rows = new std::vector<UnusualValue>{
      {"base_lr", [](const P& p) { return p.base_lr(); },
       [](const P& p) { return UsesBaseRate(p) && p.base_lr() < 0; },
       "updates follow the gradient uphill, and the loss grows"},
      {"base_lr", [](const P& p) { return p.base_lr(); },
       [](const P& p) { return UsesBaseRate(p) && p.base_lr() == 0; }, "nothing is learned"},
      {"momentum", [](const P& p) { return p.momentum(); },
       [](const P& p) { return p.momentum() >= 1; },
       "the sum of past updates never decays, and the loss usually diverges"},
      {"momentum", [](const P& p) { return p.momentum(); },
       [](const P& p) { return p.momentum() < 0; }, "each update opposes the previous one"},
      {"weight_decay", [](const P& p) { return p.weight_decay(); },
       [](const P& p) { return p.weight_decay() < 0; }, "weights grow away from 0"},
      {"gamma", [](const P& p) { return p.gamma(); },
       [](const P& p) { return p.gamma() < 0 && !HasTrait(p, LrPolicyTrait::kSignedGamma); },
       "learning rates become negative or grow"},
      {"clip_gradients", [](const P& p) { return p.clip_gradients(); },
       [](const P& p) { return p.clip_gradients() == 0; },
       "all gradients become 0, and nothing is learned"},
  };
  return *rows;
}

}  // namespace

std::vector<Warning> UnusualValues(const SolverParameter& solver, const FieldPlaces& places) {
  std::vector<Warning> warnings;
  for (const UnusualValue& row : Rows()) {
    if (!row.unusual(solver)) continue;
    std::ostringstream text;
    text << row.field << " is " << row.value(solver) << ": " << row.effect;
    warnings.push_back({places.At(row.field), text.str()});
  }
  return warnings;
}

}  // namespace doppio
