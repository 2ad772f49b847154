// Computes the learning rate of each iteration. A table has one row per policy, with a function for
// the rate. Some policies keep a state between iterations, which snapshots save. The formulas and
// their sources, where i is the iteration, starting at 0:
//
//   fixed, step, exp, inv, multistep, poly, sigmoid   BVLC Caffe
//   min_lr: the rate at which poly ends, and a lower bound on all rates;
//   rampup_interval = N: rampup_lr + (base_lr - rampup_lr) (i / N)^2 while i < N   NVCaffe 0.17
//   warmup_iter = N: warmup_start_lr + (base_lr - warmup_start_lr) i / N while i < N;
//   multifixed: the stagelr of the first stageiter >= i, or else the last one   Intel Caffe 1.1
//   plateau: base_lr gamma^step; the step grows by 1 when the smoothed loss has had no new minimum
//     for plateau_winsize(step) iterations   SSD, Intel Caffe
//   cosine: min_lr + (base_lr - min_lr) (1 + cos(pi i / max_iter)) / 2
//     Loshchilov, Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, eq. 5
//   cosine_restarts: min_lr + (base_lr - min_lr) (1 + cos(pi j / T)) / 2 for iteration j of a
//   period
//     of T iterations; the first T is stepsize, and each next one is restart_factor times as long
//     SGDR, as above, with its T_0 and T_mult
//   onecycle: from gamma base_lr up to base_lr in `stepsize` iterations, then down to min_lr at
//     max_iter, each along half a cosine
//     Smith, Topin, "Super-Convergence", 2017; the cosines are from fast.ai
//
// During ramp-up and warm-up, policies take no steps and ignore the loss, as in the forks.
#ifndef DOPPIO_SOLVERS_UPDATE_LR_POLICY_H_
#define DOPPIO_SOLVERS_UPDATE_LR_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

struct LrPolicyRow;

// Properties of a policy that other parts of the program depend on.
enum class LrPolicyTrait {
  // Rates depend on max_iter, so the first iterations of a long training are not those of a short
  // one.
  kFollowsMaxIter,
  // The rate of an iteration depends on its loss. Parameters can then not be updated before the
  // forward pass is done.
  kNeedsLoss,
  kOwnRates,     // does not use base_lr, except at the end of a ramp
  kSignedGamma,  // a negative gamma is usual
};

// State of a policy. SolverState has fields for these values.
struct LrState {
  int step = 0;                 // steps taken so far; saved as current_step
  float minimum_loss = 1e38f;   // for "plateau": smallest smoothed loss so far
  int64_t iter_last_event = 0;  // for "plateau": iteration of that minimum or of the last step
};

// Computes the rates of one training run. Not thread-safe.
class LrPolicy {
 public:
  // Throws UserError for an unknown policy or for missing fields. `param` must outlive the policy.
  // `max_iter` is the effective number of iterations (see Schedule).
  LrPolicy(const SolverParameter& param, const FieldPlaces& places, int64_t max_iter);

  // Returns the rate of `iteration`. Must be called once per iteration, in order, because
  // "multistep" takes at most one step per call, as in Caffe. `smoothed_loss` is the smoothed loss
  // of this iteration; it is used only if RateNeedsLoss.
  double Rate(int64_t iteration, float smoothed_loss = 0);

  const LrState& state() const { return state_; }
  // Continues at `iteration` from the state `saved`, of a training whose policy and steps may have
  // been others: steps that depend on the iteration alone are counted anew. Logs a warning if their
  // number differs from the saved one.
  void Resume(const LrState& saved, int64_t iteration);

 private:
  void CheckLastRate(const FieldPlaces& places) const;

  const SolverParameter& param_;
  const LrPolicyRow* row_;
  int64_t max_iter_;
  LrState state_;
};

// Returns the names of all policies.
std::vector<std::string> LrPolicyNames();

// Returns true if the solver's lr_policy exists and has the trait.
bool HasTrait(const SolverParameter& param, LrPolicyTrait trait);
inline bool RateNeedsLoss(const SolverParameter& param) {
  return HasTrait(param, LrPolicyTrait::kNeedsLoss);
}

// Returns Intel Caffe's factor on SGD's momentum during warm-up: the rate divided by the rate of
// the previous iteration. The factor is needed because the history contains the old rate. Returns 1
// outside warmup_iter. Source: Goyal et al., "Accurate, Large Minibatch SGD", 2017, remark 2.
double WarmupMomentumFactor(const SolverParameter& param, int64_t iteration);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_LR_POLICY_H_
