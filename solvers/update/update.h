// Updates the learnable parameters of a run: all of them or, if ranks divide the update, this
// rank's share. An Update owns the history of the solver's rule. It runs one pass over the arenas
// per iteration, or updates parameters one by one during backward.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_H_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/net/contract/gradient_sink.h"
#include "core/net/run/run_trace.h"
#include "core/net/spec/prototxt.h"
#include "core/net/store/params.h"
#include "proto/solver.pb.h"
#include "solvers/update/apply.h"
#include "solvers/update/rule_check.h"
#include "solvers/update/solver_history.h"

namespace doppio {

// Not thread-safe.
class Update : public GradientSink {
 public:
  // Must be constructed after the store's Allocate. `params` must outlive the update. `param` is as
  // LoadSolver returns it. `max_iter` is the effective number of iterations (see Schedule) and
  // replaces the field of the same name. If ranks divide the update, they call Run, GradientsFinite
  // and GatherHistory together. Throws all mistakes in the fields together.
  Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params,
         int64_t max_iter, const SharedUpdate& shared = {});
  Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params)
      : Update(param, places, params, param.max_iter()) {}

  // Sets the factor by which the gradients in the store exceed those of the loss
  // (Net::SetLossScale). Initially 1.
  void set_loss_scale(double scale) { loss_scale_ = scale; }

  // Updates with the gradients in the store, which are sums over iter_size passes: clip, divide by
  // iter_size, decay, apply the rule, write. `iteration` counts updates from 0.
  void Run(double rate, int64_t iteration, int iter_size);

  // Returns true if all gradients in the store are finite. Run must be called next in that case. It
  // clips by the norm computed here.
  bool GradientsFinite();

  // Returns true if one device computes, asynchronously. RunDecided can then replace
  // GradientsFinite and Run: it launches the same update, but the device computes the norm for
  // clipping and decides whether to update, so the host does not wait. The caller sets which
  // numbers of `condition` the device watches and needs. RunDecided sets the rest.
  bool decides() const {
    return parts_.size() == 1 && params_->replicas().empty() && params_->device()->asynchronous();
  }
  void RunDecided(double rate, int64_t iteration, int iter_size, UpdateCondition condition);
  // Blocks until the device has decided on the last RunDecided, and sets gradient_norm and
  // clip_scale. Returns true if all gradients are finite or were not watched. Does not wait for the
  // update.
  bool ReadDecision();
  // Checks if `losses` are finite. Must be called before each backward of an iteration, with
  // `first` set for the first one. Does not wait for the device.
  void WatchLosses(const std::vector<Tensor>& losses, bool first) {
    parts_[0].pass->WatchLosses(losses, first);
  }

  // Run in parts, with the same results, for gradients of a single pass that backward completes one
  // by one: call Begin, then Net::Backward(false, &update), then Finish for the parameters that
  // have no gradient. This is the only way if the gradients of the store share memory. Does not
  // support clip_gradients or, if ranks divide the update, other uses of norms (NeedsNorms).
  void Begin(double rate, int64_t iteration);
  void Ready(int param) override;
  void ReadySlice(int param, int64_t begin, int64_t end) override;
  void Finish();
  // Shows each update of Ready on the timeline. `trace` must outlive the update, and may be null.
  void set_trace(RunTrace* trace) { trace_ = trace; }

  const std::string& rule() const { return param_.type(); }
  // Norm in the last Run, before clipping and without the loss scale; 0 without clip_gradients.
  double gradient_norm() const { return gradient_norm_; }
  // Factor on the gradients in the last Run, due to clip_gradients; 1 if they were not clipped.
  double clip_scale() const { return clip_scale_; }
  // Momentum and weight decay of the last Run or Begin, as their policies gave them.
  double momentum() const { return inputs_.rule.momentum; }
  double weight_decay() const { return inputs_.decay; }
  // Returns a parameter of the store in which an update of this rank has left non-finite values, or
  // nullopt. The layer's outputs may still be finite, because ReLU hides NaN where oneDNN computes
  // it.
  std::optional<int> NonFiniteParam() const;
  // Returns the arenas of the history, one per slot. If ranks divide the update, an arena holds
  // this rank's share; otherwise it is laid out like the parameters' values().
  std::vector<Tensor> history_arenas() const;
  // Returns the bytes of history of the rank that has most.
  int64_t history_bytes() const { return history_->largest_bytes(); }

  // Returns the history in Caffe's order. Not if ranks divide it.
  std::vector<Tensor> History() const { return history_->Gather(nullptr).blobs; }
  // See SolverHistory::Gather.
  WholeHistory GatherHistory(Communicator* bulk) const { return history_->Gather(bulk); }
  // Replaces the history with `blobs`. Throws FileError naming `file` if the number or the sizes of
  // the blobs do not match the parameters.
  void ImportHistory(const std::vector<PlainBlob>& blobs, const std::string& file) {
    history_->Import(blobs, rule(), file);
  }

 private:
  // The parameters of one device.
  struct Part {
    std::unique_ptr<UpdatePass> pass;
    std::vector<int> order;  // of the slices: the learnable parameters by offset
    std::vector<std::pair<size_t, size_t>> without_gradient;  // ranges of slices
  };

  Part MakePart(size_t arena, const SharedUpdate& shared);
  std::vector<UpdateSlice> MakeSlices(size_t arena, Part* part);  // also fills slice_of_
  void RunAll();
  double SumSquares();
  void SetInputs(double rate, int64_t iteration, double scale);
  void SetNorm(double sum_squares);

  SolverParameter param_;
  int64_t max_iter_;
  ParamStore* params_;
  size_t rule_ = 0;  // index in Rules
  RunTrace* trace_ = nullptr;
  UpdateInputs inputs_;
  double clip_ = -1;
  double loss_scale_ = 1;
  // RunDecided was the last update, and the host has not yet read its outcome.
  bool decision_pending_ = false;
  std::optional<double> sum_squares_;  // sum over the gradients in the store, for the next Run
  double gradient_norm_ = 0, clip_scale_ = 1;
  std::optional<SolverHistory> history_;
  std::vector<Part> parts_;       // by arena of the store
  std::vector<size_t> slice_of_;  // by parameter of the store
};

// Returns true if an update with this solver needs norms over all elements of a parameter, or over
// all gradients.
bool NeedsNorms(const SolverParameter& param);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_H_
