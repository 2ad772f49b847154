#include "core/net/run/plan_passes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/threads.h"
#include "core/net/contract/combinations.h"
#include "core/net/contract/communicator.h"
#include "core/net/run/infer_again.h"
#include "core/net/run/join_sources.h"

namespace doppio {
namespace {

// Reports whether a pass, forward or backward, sets up work on the device for the first time.
void BeginSums(const Pass& pass, bool fresh) {
  if (pass.sums != nullptr) pass.sums->Begin(fresh);
}

// Checks that a pass can continue in another plan after node `changer` has changed a shape.
void CheckCanReplan(const Graph& graph, const Plan& plan, int changer, bool one_of_several_ranks) {
  for (int n = 0; n < changer; ++n) {
    Kernel* const kernel = plan.kernels[n].get();
    const bool source = graph.nodes[n].bottoms.empty();
    const std::string mistake =
        "changed the shape of a top in its forward, which is not possible because " +
        graph.Describe(n) + " before it ";
    const std::vector<Feature>& features = graph.nodes[n].shape.features;
    const bool has_state = std::count(features.begin(), features.end(), Feature::kState) > 0;
    graph.layer(changer).RefuseIf(has_state, "top", mistake, "carries a state from pass to pass");
    const bool computes = !source && kernel != nullptr && ChangerOf(kernel) == nullptr;
    graph.layer(changer).RefuseIf(one_of_several_ranks && computes, "top", mistake,
                                  "would have to run again on only one of several replicas");
  }
}

}  // namespace

PlanPasses::PlanPasses(Graph* graph, const PlanOptions& options, ParamStore* params)
    : graph_(*graph),
      params_(*params),
      plans_(graph_, options, params),
      running_(plans_.Take(nullptr)),
      executor_(graph_, &pass_, carried_) {
  executor_.Use(*running_);
  JoinSources(graph_, running_->plan->kernels);
}

void PlanPasses::Forward() {
  ForgetCarried();  // of a pass that failed
  for (int changer = RunForward(); changer >= 0; changer = RunForward()) Replan(changer);
  ForgetCarried();
  EndForward();
}

void PlanPasses::ForgetCarried() {
  if (carried_.empty()) return;
  params_.device()->Synchronize();
  carried_.Clear();
}

void PlanPasses::EndForward() {
  ++pass_.step;
  running_->losses.Start(read_scale_);
}

// Runs the steps up to the first layer whose tops' shapes differ from the plan. Returns the layer's
// node, or -1 if no shape differs.
int PlanPasses::RunForward() {
  RunningPlan& now = *running_;
  const bool by_steps = !now.changers.empty() || executor_.shows();
  BeginSums(pass_, by_steps ? !now.forward_by_steps : now.forward.Fresh(false));
  if (!by_steps) {
    now.forward.Run([this](const PlanStep& step) { executor_.Run(step); }, nullptr);
    return -1;
  }
  now.forward_by_steps = true;
  for (const PlanStep& step : now.plan->forward) {
    executor_.RunShown(step);
    if (now.ChangedBy(step)) return step.node;
  }
  return -1;
}

// Continues the pass after node `changer` has changed the shapes of its tops: in another plan, runs
// the previous layers again. The cost is one forward up to this layer; in return, the plans need
// not resemble each other.
void PlanPasses::Replan(int changer) {
  CheckCanReplan(graph_, *running_->plan, changer, pass_.ranks > 1);
  std::vector<bool> done(graph_.nodes.size(), false);
  std::fill_n(done.begin(), changer + 1, true);
  carried_.Save(graph_, *running_->plan, done);
  std::vector<int> changers = {changer};
  RunSources(changer, &changers);
  for (int node : changers) done[node] = true;
  const GraphShapes shapes(graph_);
  std::unique_ptr<RunningPlan> before;
  try {
    StoreForms(running_->plan->kernels, done, &graph_.spec);
    InferAgain(changers, &graph_);
    before = plans_.Take(running_.get());
    ClearForms(&graph_.spec);
  } catch (...) {
    ClearForms(&graph_.spec);
    shapes.Restore(&graph_);
    throw;
  }
  params_.device()->Synchronize();
  running_.swap(before);
  executor_.Use(*running_);
  JoinSources(graph_, running_->plan->kernels);
  carried_.Continue(graph_, *before->plan, *running_->plan, std::move(done));
  plans_.Keep(shapes.edges(), std::move(before), *running_);
}

// If node `changer` is a source, runs the sources behind it whose shapes may change, too, because
// the layers that read both accept their new shapes only together. Adds their nodes to `changers`.
void PlanPasses::RunSources(int changer, std::vector<int>* changers) {
  if (!graph_.nodes[changer].bottoms.empty()) return;
  for (const PlanStep& step : running_->plan->forward) {
    if (step.kind != StepKind::kLayer || step.node <= changer) continue;
    if (!graph_.nodes[step.node].bottoms.empty() || running_->changers[step.node] == nullptr)
      continue;
    if (!carried_.Repeats(step)) executor_.Run(step);
    changers->push_back(step.node);
  }
}

void PlanPasses::Backward(bool accumulate, GradientSink* sink) {
  // Backward uses the random numbers of the forward before it.
  --pass_.step;
  // Passed on by reference: a copy in a std::function would allocate.
  const auto run = [=](const PlanStep& step) { executor_.Run(step, accumulate, sink); };
  const auto after = [sink](const PlanStep& step) {
    for (size_t i = 0; sink != nullptr && i < step.ready.size(); ++i) sink->Ready(step.ready[i]);
  };
  // Logging, tracing and sinks that act between two steps need separate steps.
  const bool by_steps =
      executor_.shows() || (sink != nullptr && params_.arenas().gradients_share_memory());
  StepRunner& runner = accumulate ? running_->add_to : running_->replace;
  BeginSums(pass_, by_steps ? !running_->backward_by_steps : runner.Fresh(sink != nullptr));
  if (by_steps) {
    running_->backward_by_steps = true;
    for (const PlanStep& step : running_->plan->backward) {
      executor_.RunShown(step, accumulate, sink);
      after(step);
    }
  } else if (sink == nullptr) {
    runner.Run(std::ref(run), nullptr);
  } else {
    runner.Run(std::ref(run), after, [sink](const PlanStep& step) {
      return std::any_of(step.ready.begin(), step.ready.end(),
                         [sink](int param) { return sink->BeginsAt(param); });
    });
  }
  EndBackward();
}

void PlanPasses::EndBackward() {
  ++pass_.step;
  read_scale_ = executor_.loss_scale();
}

void PlanPasses::RunStep(const PlanStep& step, bool accumulate) {
  const ThreadCount threads(running_->plan->devices[step.place]->properties.threads);
  executor_.Run(step, accumulate);
  if (!running_->ChangedBy(step)) return;
  throw graph_.layer(step.node).Mistake(
      "top",
      "changed the shape of a top in its forward, which only a forward of the whole net supports; "
      "to time a net whose images have several sizes, use --synthetic");
}

}  // namespace doppio
