// Chooses among oneDNN's primitives for the same computation: in several layouts, by several
// algorithms.
#ifndef DOPPIO_LAYERS_COMMON_DNNL_WAYS_H_
#define DOPPIO_LAYERS_COMMON_DNNL_WAYS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/math/dnnl.h"
#include "core/net/contract/kernel.h"

namespace doppio {

// The ways to compute something, each with primitives of type Made.
template <class Made>
class DnnlWays {
 public:
  // Adds a way. make() returns its primitives; it throws dnnl::error if oneDNN has none.
  // judge(made) returns their cost, which is at least `least_cost`, as a CandidateTrial.
  template <class Make, class Judge>
  void Add(const std::string& name, double least_cost, const Make& make, const Judge& judge) {
    const auto made = made_.emplace_back(std::make_shared<std::optional<Made>>());
    candidates_.push_back({name, least_cost, [made, make, judge] {
                             try {
                               *made = make();
                               return CandidateTrial(judge(**made));
                             } catch (const dnnl::error&) {
                               return CandidateTrial{"oneDNN has no implementation", 0, ""};
                             }
                           }});
  }

  // Returns the primitives of the way that costs least, or nullopt if oneDNN has none, and notes
  // the choice of `what`.
  std::optional<Made> Best(const std::string& what, const KernelArgs& args) const {
    CandidateChoice choice = ChooseAmong(what, candidates_);
    if (choice.chosen < 0) return std::nullopt;
    std::optional<Made> best = std::move(*made_[static_cast<size_t>(choice.chosen)]);
    args.Note(std::move(choice));
    return best;
  }

 private:
  std::vector<Candidate> candidates_;
  std::vector<std::shared_ptr<std::optional<Made>>> made_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_DNNL_WAYS_H_
