#include "solvers/lr_policy.h"

#include <google/protobuf/descriptor.h>

#include <cmath>

#include "core/base/log.h"
#include "core/base/nearest.h"

namespace doppio {

struct LrInput {
  const SolverParameter& p;
  int64_t iteration;
  int64_t max_iter;
  int step;  // after this iteration's step

  double i() const { return static_cast<double>(iteration); }
};

struct LrPolicyRow {
  const char* name;
  std::vector<const char*> needs;  // fields besides base_lr
  double (*rate)(const LrInput&);
  int (*step)(const LrInput&);  // the step after `in.step`; null: none
  bool announce;                // log each step
};

namespace {

int StepOf(const LrInput& in) { return static_cast<int>(in.iteration / in.p.stepsize()); }

int MultiStepOf(const LrInput& in) {
  const bool reached = in.step < in.p.stepvalue_size() && in.iteration >= in.p.stepvalue(in.step);
  return in.step + (reached ? 1 : 0);
}

double Fixed(const LrInput& in) { return in.p.base_lr(); }
double Stepped(const LrInput& in) { return in.p.base_lr() * std::pow(in.p.gamma(), in.step); }
double Exp(const LrInput& in) { return in.p.base_lr() * std::pow(in.p.gamma(), in.i()); }
double Inv(const LrInput& in) {
  return in.p.base_lr() * std::pow(1 + in.p.gamma() * in.i(), -static_cast<double>(in.p.power()));
}
double Poly(const LrInput& in) {
  return in.p.base_lr() * std::pow(1 - in.i() / static_cast<double>(in.max_iter), in.p.power());
}
double Sigmoid(const LrInput& in) {
  return in.p.base_lr() / (1 + std::exp(-in.p.gamma() * (in.i() - in.p.stepsize())));
}

const std::vector<LrPolicyRow>& Rows() {
  static const auto* rows = new std::vector<LrPolicyRow>{
      {"fixed", {}, Fixed, nullptr, false},
      {"step", {"gamma", "stepsize"}, Stepped, StepOf, false},
      {"exp", {"gamma"}, Exp, nullptr, false},
      {"inv", {"gamma", "power"}, Inv, nullptr, false},
      {"multistep", {"gamma", "stepvalue"}, Stepped, MultiStepOf, true},
      {"poly", {"power"}, Poly, nullptr, false},
      {"sigmoid", {"gamma", "stepsize"}, Sigmoid, nullptr, false},
  };
  return *rows;
}

bool IsSet(const SolverParameter& param, const char* name) {
  const auto* field = SolverParameter::descriptor()->FindFieldByName(name);
  const auto* reflection = param.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(param, field) > 0
                              : reflection->HasField(param, field);
}

std::string List(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const LrPolicyRow* FindRow(const SolverParameter& param, const FieldPlaces& places) {
  for (const LrPolicyRow& row : Rows()) {
    if (param.lr_policy() == row.name) return &row;
  }
  if (!param.has_lr_policy()) {
    throw UserError(places.At(), "lr_policy is missing; give one of " + List(LrPolicyNames()));
  }
  throw UserError(places.At("lr_policy"), "unknown lr_policy '" + param.lr_policy() + "'" +
                                              DidYouMean(param.lr_policy(), LrPolicyNames()) +
                                              "; known: " + List(LrPolicyNames()));
}

}  // namespace

std::vector<std::string> LrPolicyNames() {
  std::vector<std::string> names;
  for (const LrPolicyRow& row : Rows()) names.push_back(row.name);
  return names;
}

LrPolicy::LrPolicy(const SolverParameter& param, const FieldPlaces& places, int64_t max_iter)
    : param_(param), row_(FindRow(param, places)), max_iter_(max_iter) {
  ErrorCollector errors;
  if (!param.has_base_lr())
    errors.Add(places.At(), "base_lr is missing; give the learning rate to start with");
  for (const char* field : row_->needs) {
    if (!IsSet(param, field)) {
      errors.Add(places.At("lr_policy"), std::string("lr_policy '") + row_->name + "' needs " +
                                             field + ", which is not set");
    } else if (field == std::string("stepsize") && param.stepsize() <= 0) {
      errors.Add(places.At("stepsize"), "stepsize is " + std::to_string(param.stepsize()) +
                                            "; give the iterations between two steps, at least 1");
    }
  }
  errors.ThrowIfAny();
}

double LrPolicy::Rate(int64_t iteration) {
  LrInput in{param_, iteration, max_iter_, step_};
  if (row_->step != nullptr) {
    in.step = row_->step(in);
    if (row_->announce && in.step != step_) {
      LOG(INFO) << "MultiStep Status: Iteration " << iteration << ", step = " << in.step;
    }
    step_ = in.step;
  }
  return row_->rate(in);
}

}  // namespace doppio
