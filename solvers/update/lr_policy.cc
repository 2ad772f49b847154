#include "solvers/update/lr_policy.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/log.h"
#include "core/base/text/nearest.h"
#include "solvers/update/field_check.h"

namespace doppio {

struct LrInput {
  const SolverParameter& p;
  int64_t iteration;
  int64_t max_iter;
  float smoothed_loss;
  int step = 0;  // including the step of this iteration

  double i() const { return static_cast<double>(iteration); }
  // Returns the fraction of the iterations that are done.
  double part() const { return i() / static_cast<double>(max_iter); }
};

struct LrPolicyRow {
  const char* name;
  std::vector<const char*> needs;  // required fields besides base_lr
  double (*rate)(const LrInput&);
  std::optional<LrPolicyTrait> trait = {};
  // Checks the policy's own fields. Null: there is nothing to check.
  void (*check)(const SolverParameter&, const FieldPlaces&, int64_t max_iter,
                ErrorCollector*) = nullptr;
  // Advances the state to this iteration. Null: the policy has no state.
  void (*advance)(const LrInput&, LrState*) = nullptr;
  const char* status = nullptr;  // name of the policy in log lines about steps; null: not logged
  // Returns the state before this iteration. Null: the initial state.
  LrState (*resume)(const LrInput&, const LrState& saved) = nullptr;
};

namespace {

constexpr double kPi = 3.14159265358979323846;

void AdvanceStep(const LrInput& in, LrState* state) {
  state->step = static_cast<int>(in.iteration / in.p.stepsize());
}

void AdvanceMultiStep(const LrInput& in, LrState* state) {
  if (state->step < in.p.stepvalue_size() && in.iteration >= in.p.stepvalue(state->step)) {
    ++state->step;
  }
}

void AdvancePlateau(const LrInput& in, LrState* state) {
  if (in.smoothed_loss < state->minimum_loss) {
    state->minimum_loss = in.smoothed_loss;
    state->iter_last_event = in.iteration;
  }
  if (state->step < in.p.plateau_winsize_size() &&
      in.iteration >= state->iter_last_event + in.p.plateau_winsize(state->step)) {
    ++state->step;
    state->iter_last_event = in.iteration;
  }
}

// Returns the first iteration in which the policy takes steps.
int64_t RampEnd(const SolverParameter& p) { return std::max(p.rampup_interval(), p.warmup_iter()); }

LrState ResumeStep(const LrInput& in, const LrState&) {
  LrState state;
  if (in.iteration > RampEnd(in.p))
    state.step = static_cast<int>((in.iteration - 1) / in.p.stepsize());
  return state;
}

LrState ResumeMultiStep(const LrInput& in, const LrState&) {
  LrState state;
  int64_t at = RampEnd(in.p) - 1;
  for (const int value : in.p.stepvalue()) {
    at = std::max<int64_t>(at + 1, value);
    if (at >= in.iteration) break;
    ++state.step;
  }
  return state;
}

// The steps of a plateau depend on the losses. The state of another policy records no loss.
LrState ResumePlateau(const LrInput&, const LrState& saved) {
  const LrState none;
  const bool own =
      saved.minimum_loss != none.minimum_loss || saved.iter_last_event != none.iter_last_event;
  return own ? saved : none;
}

// Moves from `from` to `to` along half a cosine as `part` goes from 0 to 1.
double HalfCosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(kPi * part)) / 2;
}

double Fixed(const LrInput& in) { return in.p.base_lr(); }
double Stepped(const LrInput& in) { return in.p.base_lr() * std::pow(in.p.gamma(), in.step); }
double Exp(const LrInput& in) { return in.p.base_lr() * std::pow(in.p.gamma(), in.i()); }
double Inv(const LrInput& in) {
  return in.p.base_lr() * std::pow(1 + in.p.gamma() * in.i(), -static_cast<double>(in.p.power()));
}
double Poly(const LrInput& in) {
  const double least = in.p.min_lr();
  return least + (in.p.base_lr() - least) * std::pow(1 - in.part(), in.p.power());
}
double Sigmoid(const LrInput& in) {
  return in.p.base_lr() / (1 + std::exp(-in.p.gamma() * (in.i() - in.p.stepsize())));
}
double MultiFixed(const LrInput& in) {
  int stage = 0;
  while (stage + 1 < in.p.stagelr_size() && in.iteration > in.p.stageiter(stage)) ++stage;
  return in.p.stagelr(stage);
}
double Cosine(const LrInput& in) { return HalfCosine(in.p.base_lr(), in.p.min_lr(), in.part()); }
double CosineRestarts(const LrInput& in) {
  const double factor = in.p.restart_factor();
  double start = 0, period = in.p.stepsize();
  if (factor == 1) {
    start = std::floor(in.i() / period) * period;
  } else {
    for (; in.i() >= start + period; period *= factor) start += period;
  }
  return HalfCosine(in.p.base_lr(), in.p.min_lr(), (in.i() - start) / period);
}
double OneCycle(const LrInput& in) {
  const double peak = in.p.base_lr(), rise = in.p.stepsize();
  if (in.i() < rise) return HalfCosine(peak * in.p.gamma(), peak, in.i() / rise);
  return HalfCosine(peak, in.p.min_lr(),
                    (in.i() - rise) / (static_cast<double>(in.max_iter) - rise));
}

void CheckStages(const SolverParameter& p, const FieldPlaces& places, int64_t,
                 ErrorCollector* errors) {
  if (p.stagelr_size() != p.stageiter_size()) {
    errors->Add(places.At("stageiter"), StrCat("there are ", p.stageiter_size(), " stageiter for ",
                                               p.stagelr_size(), " stagelr; give one each"));
  }
  for (int i = 1; i < p.stageiter_size(); ++i) {
    if (p.stageiter(i) > p.stageiter(i - 1)) continue;
    errors->Add(places.At("stageiter", i),
                StrCat("stageiter ", p.stageiter(i), " does not come after ", p.stageiter(i - 1),
                       "; each is the last iteration of its stage"));
  }
}

void CheckWindows(const SolverParameter& p, const FieldPlaces& places, int64_t,
                  ErrorCollector* errors) {
  for (int i = 0; i < p.plateau_winsize_size(); ++i) {
    if (p.plateau_winsize(i) >= 1) continue;
    errors->Add(
        places.At("plateau_winsize", i),
        StrCat("plateau_winsize is ", p.plateau_winsize(i),
               "; give the number of iterations without a new minimum of the loss, at least 1"));
  }
}

void CheckRise(const SolverParameter& p, const FieldPlaces& places, int64_t max_iter,
               ErrorCollector* errors) {
  if (max_iter <= 0 || p.stepsize() < max_iter) return;
  errors->Add(places.At("stepsize"),
              StrCat("stepsize is ", p.stepsize(),
                     ", but the rate must fall again before max_iter, ", max_iter));
}

void CheckRestarts(const SolverParameter& p, const FieldPlaces& places, int64_t,
                   ErrorCollector* errors) {
  if (p.restart_factor() >= 1) return;
  errors->Add(places.At("restart_factor"),
              "restart_factor is " + NumberText(p.restart_factor()) +
                  "; each period is at least as long as the one before, so give 1 or more");
}

const std::vector<LrPolicyRow>& Rows() {
  static const auto* rows = new std::vector<LrPolicyRow>{
      {"fixed", {}, Fixed},
      {"step", {"gamma", "stepsize"}, Stepped, {}, nullptr, AdvanceStep, nullptr, ResumeStep},
      {"exp", {"gamma"}, Exp},
      {"inv", {"gamma", "power"}, Inv},
      {"multistep",
       {"gamma", "stepvalue"},
       Stepped,
       {},
       nullptr,
       AdvanceMultiStep,
       "MultiStep",
       ResumeMultiStep},
      {"poly", {"power"}, Poly, LrPolicyTrait::kFollowsMaxIter},
      {"sigmoid", {"gamma", "stepsize"}, Sigmoid, LrPolicyTrait::kSignedGamma},
      {"plateau",
       {"gamma", "plateau_winsize"},
       Stepped,
       LrPolicyTrait::kNeedsLoss,
       CheckWindows,
       AdvancePlateau,
       "Plateau",
       ResumePlateau},
      {"multifixed", {"stagelr", "stageiter"}, MultiFixed, LrPolicyTrait::kOwnRates, CheckStages},
      {"cosine", {}, Cosine, LrPolicyTrait::kFollowsMaxIter},
      {"cosine_restarts", {"stepsize"}, CosineRestarts, {}, CheckRestarts},
      {"onecycle", {"gamma", "stepsize"}, OneCycle, LrPolicyTrait::kFollowsMaxIter, CheckRise},
  };
  return *rows;
}

// Returns true if the rate ramps up at the start of training.
bool Ramps(const SolverParameter& p) { return p.rampup_interval() > 0 || p.warmup_iter() > 0; }
// Returns true if `iteration` is within the ramp.
bool Ramping(const SolverParameter& p, int64_t iteration) { return iteration < RampEnd(p); }

// Returns the rate during the ramp. Requires Ramping(p, iteration).
double RampRate(const SolverParameter& p, int64_t iteration) {
  const double i = static_cast<double>(iteration);
  const bool quadratic = p.rampup_interval() > 0;
  const double start = quadratic ? p.rampup_lr() : p.warmup_start_lr();
  const double part = i / (quadratic ? p.rampup_interval() : p.warmup_iter());
  return start + (p.base_lr() - start) * (quadratic ? part * part : part);
}

bool IsSet(const SolverParameter& param, const char* name) {
  const auto* field = SolverParameter::descriptor()->FindFieldByName(name);
  const auto* reflection = param.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(param, field) > 0
                              : reflection->HasField(param, field);
}

// Returns null if there is no such policy.
const LrPolicyRow* RowOf(const SolverParameter& param) {
  for (const LrPolicyRow& row : Rows()) {
    if (param.lr_policy() == row.name) return &row;
  }
  return nullptr;
}

const LrPolicyRow* FindRow(const SolverParameter& param, const FieldPlaces& places) {
  if (const LrPolicyRow* row = RowOf(param)) return row;
  if (!param.has_lr_policy()) {
    throw UserError(places.At(), "lr_policy is missing; give one of ", JoinList(LrPolicyNames()));
  }
  throw UserError(places.At("lr_policy"), "unknown lr_policy '", param.lr_policy(), "'",
                  DidYouMean(param.lr_policy(), LrPolicyNames()),
                  "; known: ", JoinList(LrPolicyNames()));
}

void CheckNeeds(const SolverParameter& p, const FieldPlaces& places, const LrPolicyRow& row,
                ErrorCollector* errors) {
  if (!p.has_base_lr() && !(row.trait == LrPolicyTrait::kOwnRates && !Ramps(p)))
    errors->Add(places.At(), "base_lr is missing; set the initial learning rate");
  for (const char* field : row.needs) {
    if (!IsSet(p, field)) {
      errors->Add(places.At("lr_policy"), std::string("lr_policy '") + row.name + "' needs " +
                                              field + ", which is not set");
    } else if (field == std::string("stepsize") && p.stepsize() <= 0) {
      errors->Add(places.At("stepsize"),
                  StrCat("stepsize is ", p.stepsize(),
                         "; give the number of iterations between two steps, at least 1"));
    }
  }
}

void CheckRamp(const SolverParameter& p, const FieldPlaces& places, ErrorCollector* errors) {
  for (const auto& [field, value] :
       {std::pair<const char*, double>{"rampup_interval", p.rampup_interval()},
        {"rampup_lr", p.rampup_lr()},
        {"warmup_iter", p.warmup_iter()},
        {"warmup_start_lr", p.warmup_start_lr()},
        {"min_lr", p.min_lr()}}) {
    if (!(value >= 0))
      errors->Add(places.At(field),
                  std::string(field) + " must be at least 0, got " + NumberText(value));
  }
  if (p.rampup_interval() > 0 && p.warmup_iter() > 0) {
    errors->Add(places.At("warmup_iter"),
                "has rampup_interval (NVCaffe, quadratic) and warmup_iter (Intel Caffe, linear), "
                "which both set how the rate starts; keep one of them");
  }
  if (p.has_base_lr() && p.has_min_lr() && p.min_lr() > p.base_lr()) {
    errors->Add(places.At("min_lr"), "min_lr " + NumberText(p.min_lr()) + " is above base_lr " +
                                         NumberText(p.base_lr()));
  }
}

}  // namespace

std::vector<std::string> LrPolicyNames() {
  std::vector<std::string> names;
  for (const LrPolicyRow& row : Rows()) names.push_back(row.name);
  return names;
}

bool HasTrait(const SolverParameter& param, LrPolicyTrait trait) {
  const LrPolicyRow* row = RowOf(param);
  return row != nullptr && row->trait == trait;
}

double WarmupMomentumFactor(const SolverParameter& param, int64_t iteration) {
  if (iteration < 1 || iteration >= param.warmup_iter()) return 1;
  const double before = RampRate(param, iteration - 1);
  // After a rate of 0, the history is 0 for any factor.
  return before > 0 ? RampRate(param, iteration) / before : 1;
}

LrPolicy::LrPolicy(const SolverParameter& param, const FieldPlaces& places, int64_t max_iter)
    : param_(param), row_(FindRow(param, places)), max_iter_(max_iter) {
  ErrorCollector errors;
  CheckNeeds(param, places, *row_, &errors);
  CheckRamp(param, places, &errors);
  if (row_->check != nullptr) row_->check(param, places, max_iter, &errors);
  errors.ThrowIfAny();
  CheckLastRate(places);
}

// Throws UserError if the last rate is not finite, e.g. for inv with a negative gamma or for exp
// with a gamma above 1. Caffe would train until the rate is NaN or infinite. Policies with a state
// are not checked.
void LrPolicy::CheckLastRate(const FieldPlaces& places) const {
  if (max_iter_ < 1 || row_->advance != nullptr) return;
  const double last = row_->rate({param_, max_iter_ - 1, max_iter_, 0});
  if (std::isfinite(last)) return;
  throw UserError(places.At("gamma"), "the learning rate of iteration ", max_iter_ - 1,
                  " is not finite with lr_policy '", row_->name,
                  "'; change gamma, power or max_iter");
}

void LrPolicy::Resume(const LrState& saved, int64_t iteration) {
  state_ =
      row_->resume == nullptr ? LrState() : row_->resume({param_, iteration, max_iter_, 0}, saved);
  if (state_.step == saved.step) return;
  LOG(WARNING) << "The state was written after " << saved.step
               << " steps of the learning rate; with the solver's lr_policy '" << row_->name
               << "' there are " << state_.step << " steps before iteration " << iteration
               << ", and these count";
}

double LrPolicy::Rate(int64_t iteration, float smoothed_loss) {
  const auto floored = [&](double rate) {
    return param_.has_min_lr() ? std::max<double>(param_.min_lr(), rate) : rate;
  };
  if (Ramping(param_, iteration)) return floored(RampRate(param_, iteration));
  LrInput in{param_, iteration, max_iter_, smoothed_loss};
  if (row_->advance != nullptr) {
    const int before = state_.step;
    row_->advance(in, &state_);
    in.step = state_.step;
    if (row_->status != nullptr && in.step != before) {
      LOG(INFO) << row_->status << " Status: Iteration " << iteration << ", step = " << in.step;
    }
  }
  return floored(row_->rate(in));
}

}  // namespace doppio
