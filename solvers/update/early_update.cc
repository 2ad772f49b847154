#include "solvers/update/early_update.h"

namespace doppio {

void EarlyUpdate::Begin(double rate, int64_t iteration) {
  DOPPIO_CHECK(!scale_.clips(), "clipping needs all gradients at once");
  inputs_ = hyperparameters_.At(rate, iteration);
  inputs_.scale = scale_.Factor(1);
}

// Calls run(), and shows it if the trace is on.
template <class Run>
void EarlyUpdate::Show(const Param& param, const Run& run) {
  if (!Traced(trace_)) return run();
  Trace(trace_, TraceOf::kDevice, "update", "update of " + param.layer, run, param.index);
}

void EarlyUpdate::ReadySlice(int param, int64_t begin, int64_t end) {
  Show(params_.params()[param], [&] { passes_.RunSlice(inputs_, param, begin, end); });
}

void EarlyUpdate::Ready(int param) {
  const Param& shown = params_.params()[param];
  if (shown.grad_slice > 0) return;  // ReadySlice has updated it
  Show(shown, [&] { passes_.RunParam(inputs_, param); });
}

}  // namespace doppio
