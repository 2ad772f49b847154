// The learning rate of an iteration: functions in a table, one row per policy, and what these
// remember from one iteration to the next, which snapshots keep. Sources of the formulas, with i
// the iteration from 0:
//
//   fixed, step, exp, inv, multistep, poly, sigmoid   BVLC Caffe
//   min_lr, at which poly ends and below which no rate falls;
//   rampup_interval = N: rampup_lr + (base_lr - rampup_lr) (i / N)^2 while i < N   NVCaffe 0.17
//   warmup_iter = N: warmup_start_lr + (base_lr - warmup_start_lr) i / N while i < N;
//   multifixed: the stagelr of the first stageiter >= i, the last one after that   Intel Caffe 1.1
//   plateau: base_lr gamma^step; a step is taken when the smoothed loss has had no new minimum for
//     plateau_winsize(step) iterations   SSD, Intel Caffe
//   cosine: min_lr + (base_lr - min_lr) (1 + cos(pi i / max_iter)) / 2
//     Loshchilov, Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, eq. 5
//   onecycle: up from gamma base_lr to base_lr in `stepsize` iterations, then down to min_lr at
//     max_iter, each along half a cosine
//     Smith, Topin, "Super-Convergence", 2017; the cosines are fast.ai's
//
// While a rate ramps or warms up, no policy takes a step or looks at the loss, as in the forks.
#ifndef DOPPIO_SOLVERS_UPDATE_LR_POLICY_H_
#define DOPPIO_SOLVERS_UPDATE_LR_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

struct LrPolicyRow;

// What a policy remembers: the fields of the same names in SolverState.
struct LrState {
  int step = 0;                 // steps taken so far; current_step
  float minimum_loss = 1e38f;   // "plateau": the least smoothed loss so far,
  int64_t iter_last_event = 0;  // and the iteration of it or of the last step
};

class LrPolicy {
 public:
  // Throws UserError for an unknown policy or a field it needs and lacks. `param` outlives the
  // policy; `max_iter` is the effective one (see Schedule).
  LrPolicy(const SolverParameter& param, const FieldPlaces& places, int64_t max_iter);

  // Asked once per iteration, in order: "multistep" takes at most one step a call, as in Caffe.
  // `smoothed_loss` is that of this iteration, for RateNeedsLoss.
  double Rate(int64_t iteration, float smoothed_loss = 0);

  const LrState& state() const { return state_; }
  void set_state(const LrState& state) { state_ = state; }

 private:
  void CheckLastRate(const FieldPlaces& places) const;

  const SolverParameter& param_;
  const LrPolicyRow* row_;
  int64_t max_iter_;
  LrState state_;
};

std::vector<std::string> LrPolicyNames();

// Whether the rate of an iteration depends on its loss, so that no parameter can be updated before
// the forward pass is done.
bool RateNeedsLoss(const SolverParameter& param);

// What Intel Caffe multiplies SGD's momentum by while warmup_iter lasts, else 1: the history holds
// the rate, so it is made to fit the new one. Rate over rate of the iteration before; Goyal et al.,
// "Accurate, Large Minibatch SGD", 2017, remark 2.
double WarmupMomentumFactor(const SolverParameter& param, int64_t iteration);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_LR_POLICY_H_
