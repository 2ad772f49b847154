#include "solvers/update/momentum_policy.h"

#include <algorithm>
#include <cmath>

namespace doppio {
namespace {

// Returns the fraction of the run that is done at `iteration`.
double Done(int64_t iteration, int64_t max_iter) {
  return static_cast<double>(iteration) / static_cast<double>(std::max<int64_t>(1, max_iter));
}

}  // namespace

void CheckMomentumPolicy(const SolverParameter& param, FieldCheck* check) {
  check->OneOf("momentum_policy", {"fixed", "poly", "opt"});
  check->OneOf("weight_decay_policy", {"fixed", "poly"});
  const bool poly = param.momentum_policy() == "poly";
  if (poly || (param.momentum_policy() == "opt" && param.has_max_momentum()))
    check->InUnitInterval("max_momentum");
  if (poly) check->Positive("momentum_power");
  if (param.weight_decay_policy() == "poly") check->Positive("weight_decay_power");
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

std::vector<std::pair<std::string, std::string>> MomentumFieldsThatFollowMaxIter(
    const SolverParameter& param) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"momentum_policy", param.momentum_policy()},
      {"weight_decay_policy", param.weight_decay_policy()}};
  fields.erase(std::remove_if(fields.begin(), fields.end(),
                              [](const auto& field) { return field.second != "poly"; }),
               fields.end());
  return fields;
}

}  // namespace doppio
