#include "solvers/trainer/passes.h"

namespace doppio {
namespace {

// Calls f(value, device) for each parameter that forward changes (BatchNorm's statistics).
template <class F>
void ForStatistics(const ParamStore& params, const F& f) {
  for (const Param& param : params.params()) {
    if (!param.trainable && param.value) f(param.value, param.device);
  }
}

}  // namespace

void Passes::SaveStatistics() {
  statistics_.clear();
  ForStatistics(net_->params(), [&](const Tensor& value, Device* device) {
    const size_t begin = statistics_.size();
    statistics_.resize(begin + value.bytes());
    device->CopyToHost(statistics_.data() + begin, value.raw, value.bytes());
  });
}

void Passes::RestoreStatistics() const {
  const char* from = statistics_.data();
  ForStatistics(net_->params(), [&](const Tensor& value, Device* device) {
    device->CopyFromHost(value.raw, from, value.bytes());
    from += value.bytes();
  });
}

void Passes::Begin() {
  GetPosition(*net_, &start_);
  // An iteration that is dropped must not change the statistics.
  if (run_->options.elastic) SaveStatistics();
  run_->stage = TrainingRun::Stage::kPass;
  loss_ = 0;
}

void Passes::Forward() {
  Trace(run_->options.trace, TraceOf::kBoth, "forward", "forward", [&] { net_->StartForward(); });
}

void Passes::Backward(int pass, GradientSink* sink) {
  RunTrace* const trace = run_->options.trace;
  const bool last = pass + 1 == run_->schedule.iter_size;
  Trace(trace, TraceOf::kBoth, "backward", "backward", [&] { net_->Backward(pass > 0, sink); });
  // The device may still run backward, and the host has not yet waited for anything.
  if (!last || run_->iteration + 1 < run_->schedule.max_iter)
    Trace(trace, TraceOf::kHost, "data", "next batch", [&] { net_->StageNext(); });
  if (!last) Trace(trace, TraceOf::kHost, "loss", "loss", [&] { loss_ += net_->Loss(); });
}

double Passes::MeanLoss() {
  double loss = loss_;
  Trace(run_->options.trace, TraceOf::kHost, "loss", "loss", [&] { loss += net_->Loss(); });
  return loss / run_->schedule.iter_size;
}

void Passes::AddLoss(double* loss) {
  if (run_->options.world != nullptr) {
    Trace(run_->options.trace, TraceOf::kWait, RunTrace::kExposed, "wait for loss",
          [&] { run_->options.world->control().AllReduce(loss, 1, DType::kFloat64); });
    *loss /= run_->ranks();
  }
  smoothed_.Add(*loss);
}

// If this only shows a loss, the statistics stay as the last snapshot has them.
double Passes::LossOfNextBatch() {
  Begin();
  const bool keeps = run_->spec.param.test_last();
  if (keeps) SaveStatistics();
  double loss = net_->Forward();
  if (keeps) RestoreStatistics();
  AddLoss(&loss);
  return loss;
}

void Passes::GoBack() {
  if (run_->stage == TrainingRun::Stage::kPass) {
    SetPosition(start_, net_);
    if (run_->options.elastic) RestoreStatistics();
  }
  run_->stage = TrainingRun::Stage::kWhole;
}

}  // namespace doppio
