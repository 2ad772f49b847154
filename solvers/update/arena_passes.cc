#include "solvers/update/arena_passes.h"

#include <algorithm>
#include <string>

namespace doppio {
namespace {

UpdateSlice SliceOf(const Param& p) {
  return {p.offset,      p.offset + p.value.stored(),
          p.grad_offset, p.trainable ? p.lr_mult : 0.0f,
          p.decay_mult,  p.gradient,
          p.value};
}

}  // namespace

ArenaPasses::ArenaPasses(ParamStore* params, size_t rule, const SolverHistory& history,
                         const SharedUpdate& shared)
    : params_(params), slice_of_(params->params().size()) {
  for (size_t arena = 0; arena < params->arenas().all().size(); ++arena)
    parts_.push_back(MakePart(arena, rule, history, shared));
}

ArenaPasses::Part ArenaPasses::MakePart(size_t arena, size_t rule, const SolverHistory& history,
                                        const SharedUpdate& shared) {
  const ParamArena& params = params_->arenas()[arena];
  Part part;
  UpdateArenas arenas;
  arenas.dtype = params_->dtype();
  arenas.size = params.size;
  arenas.values = params.values.data();
  arenas.grads = params.grads.data();
  arenas.slices = MakeSlices(arena, &part);
  const int slots = history.slots();
  for (int slot = 0; slot < slots; ++slot) {
    const bool averages = history.averages() && slot + 1 == slots;
    (averages ? arenas.average : arenas.history[slot]) = history.arenas()[arena * slots + slot].raw;
  }
  arenas.ranges = arena == 0 ? history.ranges() : std::vector<UpdateRange>{{0, params.size, 0}};
  if (shared.shares != nullptr) {
    arenas.sum_over_ranks = [control = shared.control](double* numbers, int64_t count) {
      control->AllReduce(numbers, count, DType::kFloat64);
    };
  }
  const std::string kind = params.device->kind();
  const MakeUpdatePass* make = UpdatePasses::Get().Find(kind);
  DOPPIO_CHECK(make != nullptr, "no update is linked in for device kind " + kind);
  part.pass = (*make)(params.device, std::move(arenas), rule);
  return part;
}

std::vector<UpdateSlice> ArenaPasses::MakeSlices(size_t arena, Part* part) {
  std::vector<UpdateSlice> slices;
  auto& without = part->without_gradient;
  for (int i : params_->arenas()[arena].params) {
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
void ArenaPasses::Synchronize() const {
  for (size_t i = 0; parts_.size() > 1 && i < parts_.size(); ++i)
    params_->arenas()[i].device->Synchronize();
}

void ArenaPasses::Run(const UpdateInputs& inputs) {
  DOPPIO_CHECK(!params_->arenas().gradients_share_memory(),
               "most gradients are gone after backward");
  for (size_t i = 0; i < parts_.size(); ++i)
    parts_[i].pass->Run(inputs, 0, params_->arenas()[i].params.size());
  Synchronize();
}

void ArenaPasses::Average(double share, bool decided) {
  for (Part& part : parts_) part.pass->Average(share, decided);
  Synchronize();
}

void ArenaPasses::SwapAverage() {
  for (Part& part : parts_) part.pass->SwapAverage();
  Synchronize();
}

void ArenaPasses::RunParam(const UpdateInputs& inputs, int param) {
  const size_t slice = slice_of_[param];
  parts_[params_->param(param).arena].pass->Run(inputs, slice, slice + 1);
}

void ArenaPasses::RunSlice(const UpdateInputs& inputs, int param, int64_t begin, int64_t end) {
  parts_[params_->param(param).arena].pass->RunPart(inputs, slice_of_[param], begin, end);
}

void ArenaPasses::RunWithoutGradient(const UpdateInputs& inputs) {
  for (Part& part : parts_) {
    for (const auto& [first, last] : part.without_gradient) part.pass->Run(inputs, first, last);
  }
}

double ArenaPasses::SumSquares() {
  double sum = 0;
  for (Part& part : parts_) sum += part.pass->SumSquares();
  return sum;
}

bool ArenaPasses::GradientsFinite() {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.pass->GradientsFinite(); });
}

std::optional<int> ArenaPasses::NonFiniteParam() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const std::optional<size_t> slice = parts_[i].pass->FirstNonFinite();
    if (slice) return params_->arenas()[i].params[*slice];
  }
  return std::nullopt;
}

UpdatePass* ArenaPasses::asynchronous() const {
  const bool alone = parts_.size() == 1 && params_->replicas().empty();
  return alone && params_->device()->properties.asynchronous ? parts_[0].pass.get() : nullptr;
}

}  // namespace doppio
