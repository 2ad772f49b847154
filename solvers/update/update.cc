#include "solvers/update/update.h"

#include <cmath>

namespace doppio {

Update::Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params,
               int64_t max_iter, const SharedUpdate& shared)
    : hyperparameters_(param, places, max_iter),
      scale_(param.clip_gradients()),
      history_(params, param, shared),
      passes_(params, hyperparameters_.rule(), history_, shared),
      early_(*params, hyperparameters_, scale_, &passes_),
      average_(param, &passes_) {}

void Update::Run(double rate, int64_t iteration, int iter_size) {
  scale_.Reset();
  if (scale_.clips()) {
    scale_.SetSumSquares(sum_squares_ ? *sum_squares_ : passes_.SumSquares());
    sum_squares_.reset();
  }
  UpdateInputs inputs = hyperparameters_.At(rate, iteration);
  inputs.scale = scale_.Factor(iter_size);
  passes_.Run(inputs);
  average_.Add(iteration, false);
}

void Update::RunDecided(double rate, int64_t iteration, int iter_size, UpdateCondition condition) {
  scale_.Reset();
  UpdateInputs inputs = hyperparameters_.At(rate, iteration);
  inputs.scale = scale_.Factor(iter_size);
  decision_pending_ = scale_.clips() || condition.watches_gradients;
  if (decision_pending_ || condition.needs_losses) {
    condition.clip = scale_.clip();
    condition.loss_scale = scale_.loss_scale();
    condition.iter_size = iter_size;
    passes_.asynchronous()->Decide(condition);
    inputs.decided = true;
  }
  passes_.Run(inputs);
  average_.Add(iteration, inputs.decided);
}

bool Update::ReadDecision() {
  if (!decision_pending_) return true;
  decision_pending_ = false;
  const UpdateDecision decision = passes_.asynchronous()->ReadDecision();
  if (scale_.clips()) scale_.SetSumSquares(decision.sum_squares);
  return decision.gradients_finite;
}

void Update::Import(const std::vector<PlainBlob>& blobs, const std::string& file, bool averaged) {
  history_.Import(blobs, file, averaged);
  if (!averaged) return;
  average_.Begin();
  history_.ImportValues(blobs);
}

bool Update::GradientsFinite() {
  if (!scale_.clips()) return passes_.GradientsFinite();
  const double sum = passes_.SumSquares();
  if (!std::isfinite(sum)) return false;
  sum_squares_ = sum;
  return true;
}

}  // namespace doppio
