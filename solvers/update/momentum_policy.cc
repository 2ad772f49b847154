#include "solvers/update/momentum_policy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/nearest.h"

namespace doppio {
namespace {

void CheckName(const char* field, const std::string& name, const std::vector<std::string>& known,
               const FieldPlaces& places, ErrorCollector* errors) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  errors->Add(places.At(field), std::string("unknown ") + field + " '" + name + "'" +
                                    DidYouMean(name, known) + "; known: " + list);
}

// Returns the fraction of the run that is done at `iteration`.
double Done(int64_t iteration, int64_t max_iter) {
  return static_cast<double>(iteration) / static_cast<double>(std::max<int64_t>(1, max_iter));
}

}  // namespace

void CheckMomentumPolicy(const SolverParameter& param, const FieldPlaces& places,
                         ErrorCollector* errors) {
  CheckName("momentum_policy", param.momentum_policy(), {"fixed", "poly", "opt"}, places, errors);
  CheckName("weight_decay_policy", param.weight_decay_policy(), {"fixed", "poly"}, places, errors);
  const bool uses_max = param.momentum_policy() == "poly" ||
                        (param.momentum_policy() == "opt" && param.has_max_momentum());
  if (uses_max && !(param.max_momentum() >= 0 && param.max_momentum() < 1)) {
    errors->Add(places.At("max_momentum"), "max_momentum must be at least 0 and below 1");
  }
  if (param.momentum_policy() == "poly" && !(param.momentum_power() > 0)) {
    errors->Add(places.At("momentum_power"), "momentum_power must be above 0");
  }
  if (param.weight_decay_policy() == "poly" && !(param.weight_decay_power() > 0)) {
    errors->Add(places.At("weight_decay_power"), "weight_decay_power must be above 0");
  }
}

double MomentumAt(const SolverParameter& param, int64_t iteration, int64_t max_iter, double rate) {
  const double momentum = param.momentum(), most = param.max_momentum();
  if (param.momentum_policy() == "poly") {
    return momentum +
           (most - momentum) * std::pow(Done(iteration, max_iter), param.momentum_power());
  }
  if (param.momentum_policy() == "opt") {
    const double root = 1 - std::sqrt(rate) / 2;
    return param.has_max_momentum() ? std::min(most, root * root) : root * root;
  }
  return momentum;
}

double WeightDecayAt(const SolverParameter& param, int64_t iteration, int64_t max_iter) {
  const double decay = param.weight_decay();
  if (param.weight_decay_policy() != "poly") return decay;
  return decay * std::pow(Done(iteration, max_iter), param.weight_decay_power());
}

}  // namespace doppio
