// The learning rate of an iteration: pure functions in a table, one row per policy of Caffe, plus
// the count of steps taken, which snapshots keep.
#ifndef DOPPIO_SOLVERS_LR_POLICY_H_
#define DOPPIO_SOLVERS_LR_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

struct LrPolicyRow;

class LrPolicy {
 public:
  // Throws UserError for an unknown policy or a field it needs and lacks. `param` outlives the
  // policy; `max_iter` is the effective one (see Schedule).
  LrPolicy(const SolverParameter& param, const FieldPlaces& places, int64_t max_iter);

  // Asked once per iteration, in order: "multistep" takes at most one step a call, as in Caffe.
  double Rate(int64_t iteration);

  // Steps taken so far; SolverState.current_step.
  int current_step() const { return step_; }
  void set_current_step(int step) { step_ = step; }

 private:
  const SolverParameter& param_;
  const LrPolicyRow* row_;
  int64_t max_iter_;
  int step_ = 0;
};

std::vector<std::string> LrPolicyNames();

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_LR_POLICY_H_
