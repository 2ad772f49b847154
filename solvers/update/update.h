// The update of all learnable parameters of a run: the rule a solver names, its history beside the
// parameters' arenas, and one pass over them per iteration, or parts of it while backward goes on.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_H_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/net/run/gradient_sink.h"
#include "core/net/store/params.h"
#include "core/net/store/plain_blob.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"
#include "solvers/update/apply.h"
#include "solvers/update/rule_check.h"

namespace doppio {

class Update : public GradientSink {
 public:
  // After the store's Allocate; `params` outlives the update. `param` as LoadSolver returns it, but
  // for `max_iter`, the effective one (see Schedule). Throws all mistakes in its fields together.
  Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params,
         int64_t max_iter);
  Update(const SolverParameter& param, const FieldPlaces& places, ParamStore* params)
      : Update(param, places, params, param.max_iter()) {}

  // What the gradients in the store are larger by than the loss's (Net::SetLossScale); 1 at first.
  void set_loss_scale(double scale) { loss_scale_ = scale; }

  // Updates with the gradients that lie in the store, which are sums over iter_size passes: clip,
  // divide by iter_size, decay, rule, write. `iteration` counts updates from 0.
  void Run(double rate, int64_t iteration, int iter_size);

  // Whether all gradients that lie in the store are. If so, Run is next, and clips by the norm that
  // this has found where it needs one.
  bool GradientsFinite();

  // Whether the device computes while the host goes on. Then RunDecided may be used instead of
  // GradientsFinite and Run: it asks for the same update and lets the device find the norm to clip
  // by and whether there is an update at all, so that the host does not wait.
  bool decides() const { return pass_->decides(); }
  struct Decision {
    bool watch_gradients = false;  // find whether they are finite
    // The update happens only if all gradients are finite (needs_gradients, which also sets
    // watch_gradients) and all losses given to WatchLosses are (needs_losses).
    bool needs_gradients = false, needs_losses = false;
  };
  void RunDecided(double rate, int64_t iteration, int iter_size, const Decision& decision);
  // After RunDecided: waits for the decision, which gives gradient_norm and clip_scale, and returns
  // whether all gradients are finite, where they were watched. Does not wait for the update.
  bool TakeVerdict();
  // Before each backward of an iteration; `first`: of its first one. Does not wait.
  void WatchLosses(const std::vector<Tensor>& losses, bool first) {
    pass_->WatchLosses(losses, first);
  }

  // The same, with the same numbers, for gradients of one pass that backward hands over one by one:
  // Begin, Net::Backward(false, &update), Finish for the parameters that have none. Where the
  // store's gradients share memory this is the only way. Not with clip_gradients.
  void Begin(double rate, int64_t iteration);
  void Ready(int param) override;
  void Finish();

  const std::string& rule() const { return rule_name_; }
  // Of the last Run, before clipping and without the loss scale; 0 without clip_gradients.
  double gradient_norm() const { return gradient_norm_; }
  // What the last Run multiplied gradients by to keep to clip_gradients; 1: nothing.
  double clip_scale() const { return clip_scale_; }
  // Of the last Run or Begin, as their policies gave them.
  double momentum() const { return numbers_.rule.momentum; }
  double weight_decay() const { return numbers_.decay; }
  // A parameter of the store that some update so far has left with values that are not finite. Its
  // layer may still give finite numbers, since ReLU hides NaN where oneDNN computes it.
  std::optional<int> LostParam() const;
  int64_t history_bytes() const;
  // One per slot, laid out as the parameters' values().
  std::vector<Tensor> history_arenas() const;

  // Caffe's order: the first slot of every learnable parameter, then the second of every one.
  std::vector<Tensor> History() const;
  std::vector<PlainBlob> ExportHistory() const;
  // Throws FileError, naming `file`, when number or sizes do not fit these parameters.
  void ImportHistory(const std::vector<PlainBlob>& blobs, const std::string& file);

 private:
  std::vector<UpdateSlice> MakeSlices();  // and the index of them below
  void SetNumbers(double rate, int64_t iteration, double scale);
  void SetNorm(double sum_squares);
  Tensor HistoryOf(const Param& param, size_t slot) const;

  SolverParameter param_;
  int64_t max_iter_;
  ParamStore* params_;
  std::string rule_name_;
  double (*rate_factor_)(const RuleScalars<double>&, int64_t) = nullptr;
  UpdateNumbers numbers_;
  double clip_ = -1;
  double loss_scale_ = 1;
  bool undecided_ = false;  // RunDecided was the last, and the host does not know all it wants to
  std::optional<double> sum_squares_;  // of the gradients in the store, for the next Run
  double gradient_norm_ = 0, clip_scale_ = 1;
  std::vector<Buffer> history_;  // one per slot
  std::unique_ptr<UpdatePass> pass_;
  size_t slice_count_ = 0;
  std::vector<size_t> slice_of_;                             // per parameter of the store
  std::vector<std::pair<size_t, size_t>> without_gradient_;  // ranges of slices
};

// Whether a training with this solver needs no gradient once its parameter is updated, so that
// PlanOptions::gradients_consumed may be set and Begin, Ready, Finish used. Not on a GPU: it
// updates everything in one launch, after a backward that it repeats as a whole.
bool ConsumesGradients(const SolverParameter& param, const Device& device);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_H_
