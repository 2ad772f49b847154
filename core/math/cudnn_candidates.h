// Chooses between several ways to compute the same result with cuDNN, for example one graph with
// all operations, or a smaller graph followed by one of Doppio's own kernels. Only *_cuda.cc files
// include this header.
#ifndef DOPPIO_CORE_MATH_CUDNN_CANDIDATES_H_
#define DOPPIO_CORE_MATH_CUDNN_CANDIDATES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/candidates.h"
#include "core/math/cudnn_step.h"
#include "core/math/cudnn_timer.h"

namespace doppio {

// One way to compute the result.
struct CudnnCandidate {
  std::string name;
  // Returns the candidate's graph with its plan, or null if cuDNN has no plan.
  std::function<std::shared_ptr<CudnnGraphStep>()> find;
  std::vector<CudnnRole> roles;  // the roles of the tensors that the graph reads and writes
  // Enqueues the work that follows the graph, in the timer's memory. Empty if there is none.
  std::function<void(const CudnnTimer& memory)> after;
  // Factor on the measured time. Above 1 for a candidate with another drawback, such as additional
  // rounding.
  float weight = 1;
  bool slow = false;  // expected to be slower than the other candidates
};

// The plan and the index of the chosen candidate.
struct ChosenCandidate {
  std::shared_ptr<CudnnGraphStep> step;  // null if no candidate has a plan
  size_t index = 0;
  CandidateChoice choice;  // with the measured times, if this call has measured them
};

// Returns the fastest of `candidates` for the computation of `what` and stores the choice
// (cudnn_choices.h). While a candidate's plan is not settled, the choice is preliminary: the next
// process compares all candidates again, each with the fastest plan known then. If nothing is
// measured, returns the first candidate that has a plan, slow ones last. `key` names the
// computation; `memory` must contain every role that the candidates use.
ChosenCandidate ChooseCandidate(Device* device, const std::string& key, const std::string& what,
                                const std::vector<CudnnTimer::Memory>& memory,
                                const std::vector<CudnnCandidate>& candidates);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_CANDIDATES_H_
