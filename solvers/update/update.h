// Updates the learnable parameters of a run: all of them or, if ranks divide the update, this
// rank's share. An Update owns the history of the solver's rule. It runs one pass over the arenas
// per iteration, or updates parameters one by one during backward (early()).
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_H_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_H_

#include <optional>
#include <vector>

#include "solvers/update/arena_passes.h"
#include "solvers/update/early_update.h"
#include "solvers/update/gradient_scale.h"
#include "solvers/update/hyperparameters.h"
#include "solvers/update/solver_history.h"
#include "solvers/update/weight_average.h"

namespace doppio {

// Not thread-safe.
class Update {
 public:
  // Must be constructed after the store's Allocate. `params` must outlive the update. The other
  // arguments are those of Hyperparameters. If ranks divide the update, they call Run and
  // GradientsFinite together. Throws all mistakes in the fields together.
  Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params,
         int64_t max_iter, const SharedUpdate& shared = {});
  Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params)
      : Update(param, places, params, param.max_iter()) {}
  Update(const Update&) = delete;  // its parts refer to each other
  Update& operator=(const Update&) = delete;

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
  bool decides() const { return passes_.asynchronous() != nullptr; }
  void RunDecided(double rate, int64_t iteration, int iter_size, UpdateCondition condition);
  // Blocks until the device has decided on the last RunDecided, and sets the norm in scale().
  // Returns true if all gradients are finite or were not watched. Does not wait for the update.
  bool ReadDecision();
  // Checks if `losses` are finite. Must be called before each backward of an iteration, with
  // `first` set for the first one. Does not wait for the device.
  void WatchLosses(const std::vector<Tensor>& losses, bool first) {
    passes_.asynchronous()->WatchLosses(losses, first);
  }

  // Restores the history from a state. With `averaged`, the values of the parameters are averages,
  // and the last slot of `blobs` has the weights of the training. Throws FileError naming `file`.
  void Import(const std::vector<PlainBlob>& blobs, const std::string& file, bool averaged);

  EarlyUpdate& early() { return early_; }
  WeightAverage& average() { return average_; }
  const WeightAverage& average() const { return average_; }
  GradientScale& scale() { return scale_; }
  const GradientScale& scale() const { return scale_; }
  const ArenaPasses& passes() const { return passes_; }
  SolverHistory& history() { return history_; }
  const SolverHistory& history() const { return history_; }

 private:
  const Hyperparameters hyperparameters_;
  GradientScale scale_;
  SolverHistory history_;
  ArenaPasses passes_;
  EarlyUpdate early_;
  WeightAverage average_;
  // RunDecided was the last update, and the host has not yet read its outcome.
  bool decision_pending_ = false;
  std::optional<double> sum_squares_;  // sum over the gradients in the store, for the next Run
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_H_
