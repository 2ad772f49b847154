// The plans of a net for the shapes that its blobs have had. They use one memory, and one of them
// runs at a time.
#ifndef DOPPIO_CORE_NET_RUN_SHAPE_PLANS_H_
#define DOPPIO_CORE_NET_RUN_SHAPE_PLANS_H_

#include <list>
#include <memory>
#include <vector>

#include "core/net/run/running_plan.h"

namespace doppio {

// Makes plans, and keeps those that do not run. Not thread-safe.
class ShapePlans {
 public:
  static constexpr int kMost = 32;  // with the one that runs

  // `graph` and `params` must outlive this object.
  ShapePlans(const Graph& graph, const PlanOptions& options, ParamStore* params)
      : graph_(graph), options_(options), params_(params) {}

  // Returns the plan for the graph's shapes: one that was kept, or a new one. `before` is the plan
  // that has run so far; null for the first.
  std::unique_ptr<RunningPlan> Take(const RunningPlan* before);
  // Keeps `before`, a plan for blobs of the shapes `edges`, and the other plans, if they use the
  // memory of `now`.
  void Keep(std::vector<Shape> edges, std::unique_ptr<RunningPlan> before, const RunningPlan& now);

  const PlanOptions& options() const { return options_; }

 private:
  struct Kept {
    std::vector<Shape> edges;
    std::unique_ptr<RunningPlan> plan;
  };

  std::unique_ptr<RunningPlan> Make(const std::shared_ptr<PlanBuffers>& memory) const;

  const Graph& graph_;
  PlanOptions options_;
  ParamStore* const params_;
  std::list<Kept> kept_;  // the last used first
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_SHAPE_PLANS_H_
