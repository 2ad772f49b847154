// An update of each parameter as soon as its gradient is complete, while backward computes the
// others or ranks still sum them. The results are those of Update::Run. This is the only way if the
// gradients of the store share memory.
#ifndef DOPPIO_SOLVERS_UPDATE_EARLY_UPDATE_H_
#define DOPPIO_SOLVERS_UPDATE_EARLY_UPDATE_H_

#include <cstdint>

#include "core/net/contract/gradient_sink.h"
#include "core/net/run/run_trace.h"
#include "core/net/store/params.h"
#include "solvers/update/arena_passes.h"
#include "solvers/update/gradient_scale.h"
#include "solvers/update/hyperparameters.h"

namespace doppio {

// For gradients of a single pass: call Begin, then Net::Backward(false, &early), then Finish for
// the parameters that have no gradient. Does not support clip_gradients or, if ranks divide the
// update, other uses of norms (NeedsNorms). Not thread-safe.
class EarlyUpdate : public GradientSink {
 public:
  // The arguments must outlive this object.
  EarlyUpdate(const ParamStore& params, const Hyperparameters& hyperparameters,
              const GradientScale& scale, ArenaPasses* passes)
      : params_(params), hyperparameters_(hyperparameters), scale_(scale), passes_(*passes) {}

  void Begin(double rate, int64_t iteration);
  void Ready(int param) override;
  void ReadySlice(int param, int64_t begin, int64_t end) override;
  void Finish() { passes_.RunWithoutGradient(inputs_); }
  // Shows each update of Ready on the timeline. `trace` must outlive the update, and may be null.
  void set_trace(RunTrace* trace) { trace_ = trace; }

 private:
  template <class Run>
  void Show(const Param& param, const Run& run);

  const ParamStore& params_;
  const Hyperparameters& hyperparameters_;
  const GradientScale& scale_;
  ArenaPasses& passes_;
  UpdateInputs inputs_;  // since the last Begin
  RunTrace* trace_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_EARLY_UPDATE_H_
