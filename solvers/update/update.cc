#include "solvers/update/update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solvers/update/lr_policy.h"
#include "solvers/update/momentum_policy.h"

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

UpdateSlice SliceOf(const Param& p) {
  return {p.offset,      p.offset + p.value.stored(),
          p.grad_offset, p.trainable ? p.lr_mult : 0.0f,
          p.decay_mult,  p.gradient};
}

}  // namespace

bool NeedsNorms(const SolverParameter& param) {
  bool ratio = false;
  ForEachRule([&](auto rule) {
    if (param.type() == decltype(rule)::kName) ratio = decltype(rule)::kTrustRatio;
  });
  return ratio || param.clip_gradients() >= 0 || LocalRateFor(param, 0, 0).on;
}

Update::Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params,
               int64_t max_iter, const SharedUpdate& shared)
    : param_(param), max_iter_(max_iter), params_(params), clip_(param.clip_gradients()) {
  CheckRule(param, places);
  rule_ = FindRule(param, places);
  inputs_.l1 = param.regularization_type() == "L1";
  inputs_.keep_steps = param.snapshot_diff();
  inputs_.rule.momentum2 = param.momentum2();
  inputs_.rule.delta = param.delta();
  inputs_.rule.rms_decay = param.rms_decay();

  history_.emplace(params, HistorySlots(param), shared);
  slice_of_.resize(params_->params().size());
  for (size_t arena = 0; arena < params->arenas().all().size(); ++arena)
    parts_.push_back(MakePart(arena, shared));
}

Update::Part Update::MakePart(size_t arena, const SharedUpdate& shared) {
  const ParamArena& params = params_->arenas()[arena];
  Part part;
  UpdateArenas arenas;
  arenas.dtype = params_->dtype();
  arenas.size = params.size;
  arenas.values = params.values.data();
  arenas.grads = params.grads.data();
  arenas.slices = MakeSlices(arena, &part);
  const int slots = history_->slots();
  for (int slot = 0; slot < slots; ++slot)
    arenas.history[slot] = history_->arenas()[arena * slots + slot].data();
  arenas.ranges = arena == 0 ? history_->ranges() : std::vector<UpdateRange>{{0, params.size, 0}};
  if (shared.shares != nullptr) {
    arenas.sum_over_ranks = [control = shared.control](double* numbers, int64_t count) {
      control->AllReduce(numbers, count, DType::kFloat64);
    };
  }
  const std::string kind = params.device->kind();
  const MakeUpdatePass* make = UpdatePasses::Get().Find(kind);
  DOPPIO_CHECK(make != nullptr, "no update is linked in for device kind " + kind);
  part.pass = (*make)(params.device, std::move(arenas), rule_);
  return part;
}

std::vector<UpdateSlice> Update::MakeSlices(size_t arena, Part* part) {
  std::vector<UpdateSlice> slices;
  for (int i : params_->learnable()) {
    if (params_->param(i).arena == static_cast<int>(arena)) part->order.push_back(i);
  }
  std::sort(part->order.begin(), part->order.end(),
            [&](int a, int b) { return params_->param(a).offset < params_->param(b).offset; });
  auto& without = part->without_gradient;
  for (int i : part->order) {
    const size_t slice = slices.size();
    slice_of_[i] = slice;
    slices.push_back(SliceOf(params_->param(i)));
    if (slices.back().gradient) continue;
    const bool goes_on = !without.empty() && without.back().second == slice;
    if (!goes_on) without.emplace_back(slice, slice);
    without.back().second = slice + 1;
  }
  return slices;
}

// If there are several devices, waits for them, because the host reads the parameters of all of
// them in the order of the first one's work.
void Update::RunAll() {
  for (Part& part : parts_) part.pass->Run(inputs_, 0, part.order.size());
  for (size_t i = 0; parts_.size() > 1 && i < parts_.size(); ++i)
    params_->arenas()[i].device->Synchronize();
}

double Update::SumSquares() {
  double sum = 0;
  for (Part& part : parts_) sum += part.pass->SumSquares();
  return sum;
}

void Update::SetInputs(double rate, int64_t iteration, double scale) {
  inputs_.scale = scale / loss_scale_;
  inputs_.decided = false;
  inputs_.decay = WeightDecayAt(param_, iteration, max_iter_);
  RuleScalars<double>& rule = inputs_.rule;
  rule.momentum = MomentumAt(param_, iteration, max_iter_, rate);
  inputs_.local = LocalRateFor(param_, rule.momentum, inputs_.decay);
  VisitRule(rule_, [&](auto r) {
    using Rule = decltype(r);
    if (Rule::kWarmupMomentum) rule.momentum *= WarmupMomentumFactor(param_, iteration);
    inputs_.rate = rate * Rule::RateFactor(rule, iteration + 1);
  });
  const double t = static_cast<double>(iteration + 1);
  rule.unbias = 1 / (1 - std::pow(rule.momentum, t));
  rule.unbias2 = 1 / (1 - std::pow(rule.momentum2, t));
}

void Update::Run(double rate, int64_t iteration, int iter_size) {
  DOPPIO_CHECK(!params_->arenas().gradients_share_memory(),
               "most gradients are gone after backward");
  gradient_norm_ = 0;
  clip_scale_ = 1;
  if (clip_ >= 0) {
    SetNorm(sum_squares_ ? *sum_squares_ : SumSquares());
    sum_squares_.reset();
  }
  SetInputs(rate, iteration, clip_scale_ / iter_size);
  RunAll();
}

void Update::SetNorm(double sum_squares) {
  gradient_norm_ = std::sqrt(sum_squares) / loss_scale_;
  if (gradient_norm_ > clip_) clip_scale_ = clip_ / gradient_norm_;
}

void Update::RunDecided(double rate, int64_t iteration, int iter_size, UpdateCondition condition) {
  DOPPIO_CHECK(!params_->arenas().gradients_share_memory(),
               "most gradients are gone after backward");
  gradient_norm_ = 0;
  clip_scale_ = 1;
  SetInputs(rate, iteration, 1.0 / iter_size);
  decision_pending_ = clip_ >= 0 || condition.watches_gradients;
  if (decision_pending_ || condition.needs_losses) {
    condition.clip = clip_;
    condition.loss_scale = loss_scale_;
    condition.iter_size = iter_size;
    parts_[0].pass->Decide(condition);
    inputs_.decided = true;
  }
  RunAll();
}

bool Update::ReadDecision() {
  if (!decision_pending_) return true;
  decision_pending_ = false;
  const UpdateDecision decision = parts_[0].pass->ReadDecision();
  if (clip_ >= 0) SetNorm(decision.sum_squares);
  return decision.gradients_finite;
}

bool Update::GradientsFinite() {
  DOPPIO_CHECK(!params_->arenas().gradients_share_memory(),
               "most gradients are gone after backward");
  if (clip_ < 0) {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.pass->GradientsFinite(); });
  }
  const double sum = SumSquares();
  if (!std::isfinite(sum)) return false;
  sum_squares_ = sum;
  return true;
}

void Update::Begin(double rate, int64_t iteration) {
  DOPPIO_CHECK(clip_ < 0, "clipping needs all gradients at once");
  SetInputs(rate, iteration, 1);
}

void Update::ReadySlice(int param, int64_t begin, int64_t end) {
  const Param& shown = params_->param(param);
  const auto run = [&] {
    parts_[shown.arena].pass->RunPart(inputs_, slice_of_[param], begin, end);
  };
  if (!Traced(trace_)) return run();
  Trace(trace_, TraceOf::kDevice, "update", "update of " + shown.layer, run, shown.index);
}

void Update::Ready(int param) {
  if (params_->param(param).grad_slice > 0) return;  // ReadySlice has updated it
  const size_t slice = slice_of_[param];
  const Param& shown = params_->param(param);
  const auto run = [&] { parts_[shown.arena].pass->Run(inputs_, slice, slice + 1); };
  if (!Traced(trace_)) return run();
  Trace(trace_, TraceOf::kDevice, "update", "update of " + shown.layer, run, shown.index);
}

void Update::Finish() {
  for (Part& part : parts_) {
    for (const auto& [first, last] : part.without_gradient) part.pass->Run(inputs_, first, last);
  }
}

std::optional<int> Update::NonFiniteParam() const {
  for (const Part& part : parts_) {
    if (const std::optional<size_t> slice = part.pass->FirstNonFinite()) return part.order[*slice];
  }
  return std::nullopt;
}

std::vector<Tensor> Update::history_arenas() const {
  std::vector<Tensor> arenas;
  for (const Buffer& slot : history_->arenas()) {
    const int64_t elements = slot.bytes() / ElementBytes(params_->dtype());
    arenas.emplace_back(TensorSpec{Shape{elements}, params_->dtype(), Layout()}, slot.data());
  }
  return arenas;
}

}  // namespace doppio
