#include "core/net/run/shape_plans.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/log.h"
#include "core/net/run/infer_again.h"

namespace doppio {

std::unique_ptr<RunningPlan> ShapePlans::Make(const std::shared_ptr<PlanBuffers>& memory) const {
  return std::make_unique<RunningPlan>(graph_, MakePlan(graph_, options_, params_, memory),
                                       params_->device());
}

std::unique_ptr<RunningPlan> ShapePlans::Take(const RunningPlan* before) {
  if (before == nullptr) {
    std::unique_ptr<RunningPlan> first = Make(nullptr);
    // The solver and the exchange have allocated their memory before a later plan is made.
    options_.history_slots = options_.exchange_bytes = 0;
    options_.update_scratch = nullptr;
    return first;
  }
  const std::vector<Shape> edges = GraphShapes(graph_).edges();
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const Kept& each) { return each.edges == edges; });
  if (kept != kept_.end()) {
    std::unique_ptr<RunningPlan> plan = std::move(kept->plan);
    kept_.erase(kept);
    return plan;
  }
  // A program may still read the blobs of the last pass.
  const std::shared_ptr<PlanBuffers> shared = options_.keep_all ? nullptr : before->plan->buffers;
  std::unique_ptr<RunningPlan> made = Make(shared);
  if (shared != nullptr && made->plan->buffers != shared) {
    LOG(INFO) << "For larger samples, activations and scratch of the " << made->plan->memory.net
              << " get " << Bytes(made->plan->buffers->bytes());
  }
  return made;
}

void ShapePlans::Keep(std::vector<Shape> edges, std::unique_ptr<RunningPlan> before,
                      const RunningPlan& now) {
  if (before->plan->buffers != now.plan->buffers) return kept_.clear();
  // The store would hold host memory for each plan.
  if (before->plan->host_store != nullptr) return;
  kept_.push_front({std::move(edges), std::move(before)});
  if (kept_.size() >= kMost) kept_.pop_back();
}

}  // namespace doppio
