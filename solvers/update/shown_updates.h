// A gradient sink that updates each parameter as soon as its gradient is complete, and shows each
// update on the timeline.
#ifndef DOPPIO_SOLVERS_UPDATE_SHOWN_UPDATES_H_
#define DOPPIO_SOLVERS_UPDATE_SHOWN_UPDATES_H_

#include "core/net/run/gradient_sink.h"
#include "core/net/store/params.h"
#include "core/net/run/run_trace.h"
#include "solvers/update/update.h"

namespace doppio {

class ShownUpdates : public GradientSink {
 public:
  // The arguments must outlive this object. `trace` may be null.
  ShownUpdates(Update* update, ParamStore* params, RunTrace* trace)
      : update_(update), params_(params), trace_(trace) {}

  void Ready(int param) override {
    if (!Traced(trace_)) return update_->Ready(param);
    const Param& shown = params_->param(param);
    Trace(
        trace_, TraceOf::kDevice, "update", "update of " + shown.layer,
        [&] { update_->Ready(param); }, shown.index);
  }

 private:
  Update* const update_;
  ParamStore* const params_;
  RunTrace* const trace_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_SHOWN_UPDATES_H_
