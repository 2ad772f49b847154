#include "core/net/run/staged_passes.h"

#include <string>

#include "core/net/run/carried_state.h"
#include "core/net/run/changing_tops.h"
#include "core/net/run/memory_source.h"

namespace doppio {

Tasks::Tasks(const std::vector<PlanStep>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (places.empty() || places.back() != steps[i].place) {
      ranges.push_back({i, i});
      places.push_back(steps[i].place);
    }
    ranges.back().second = i + 1;
  }
}

StagedPasses::StagedPasses(Net* first)
    : first_(*first),
      forward_(first->plan().forward),
      backward_(first->plan().backward),
      team_(first->plan().devices) {
  CheckLayers();
  const int parts = first_.graph_.spec.options.microbatches;
  AddPart(first);
  PlanOptions options = first_.options_;
  for (options.microbatch = 1; options.microbatch < parts; ++options.microbatch) {
    others_.push_back(std::make_unique<Net>(first_.graph_, options, first_.params_));
    AddPart(others_.back().get());
  }
  const int devices = static_cast<int>(first_.plan().devices.size());
  forward_order_ = TaskOrder(forward_.places, devices, parts);
  backward_order_ = TaskOrder(backward_.places, devices, parts);
}

void StagedPasses::CheckLayers() const {
  const bool parts = first_.graph_.spec.options.microbatches > 1;
  for (size_t n = 0; n < first_.graph_.nodes.size(); ++n) {
    Kernel* const kernel = first_.kernel(static_cast<int>(n));
    if (kernel == nullptr) continue;
    const LayerSpec& layer = first_.graph_.layer(static_cast<int>(n));
    if (ChangerOf(kernel) != nullptr) {
      throw layer.Mistake("type",
                          "may change the shapes of its tops in every pass, which does not "
                          "work if layers are placed on several devices");
    }
    if (parts && StateOf(kernel) != nullptr && !StateOf(kernel)->State().empty()) {
      throw layer.Mistake(
          "type", "carries a state from pass to pass, which does not work with micro-batches");
    }
    if (parts && dynamic_cast<MemorySource*>(InnermostKernel(kernel)) != nullptr) {
      throw layer.Mistake(
          "type", "gets its samples from a program, which does not work with micro-batches");
    }
  }
}

void StagedPasses::AddPart(Net* net) {
  Part part;
  part.net = net;
  const Plan& plan = net->plan();
  for (size_t i = 0; i < forward_.ranges.size(); ++i)
    part.forward.emplace_back(plan, plan.forward, forward_.ranges[i],
                              plan.devices[forward_.places[i]]);
  for (size_t i = 0; i < backward_.ranges.size(); ++i) {
    Device* const device = plan.devices[backward_.places[i]];
    part.replace.emplace_back(plan, plan.backward, backward_.ranges[i], device);
    part.add.emplace_back(plan, plan.backward, backward_.ranges[i], device);
  }
  parts_.push_back(std::move(part));
}

// Makes the other micro-batches follow the first one. They read parts of one batch, as ranks do.
void StagedPasses::Align() {
  Pass& pass = first_.pass();
  pass.ranks = static_cast<int>(parts_.size());
  for (size_t i = 0; i < others_.size(); ++i) {
    Net& net = *others_[i];
    net.pass() = pass;
    net.pass().rank = static_cast<int>(i) + 1;
    for (size_t n = 0; n < first_.graph_.nodes.size(); ++n) {
      const int node = static_cast<int>(n);
      if (first_.kernel(node) == nullptr || first_.kernel(node)->position() < 0) continue;
      const int64_t position = first_.kernel(node)->position();
      if (net.kernel(node)->position() != position) net.kernel(node)->Seek(position);
    }
  }
}

void StagedPasses::Forward() {
  Align();
  team_.Run(forward_order_, [this](int task, int part) {
    RunTask(forward_, task, parts_[part].net, &parts_[part].forward[task], false);
  });
  for (const Part& part : parts_) part.net->EndForward();
}

void StagedPasses::Backward(bool accumulate, GradientSink* sink) {
  // Backward uses the random numbers of the forward before it.
  for (const Part& part : parts_) --part.net->pass().step;
  team_.Run(backward_order_, [this, accumulate](int task, int part) {
    const bool adds = accumulate || part > 0;
    Part& its = parts_[part];
    RunTask(backward_, task, its.net, adds ? &its.add[task] : &its.replace[task], adds);
  });
  for (const Part& part : parts_) {
    ++part.net->pass().step;
    part.net->read_scale_ = part.net->loss_scale_;
  }
  if (sink == nullptr) return;
  for (const PlanStep& step : first_.plan().backward) {
    for (int param : step.ready) sink->Ready(param);
  }
}

void StagedPasses::RunTask(const Tasks& tasks, int task, Net* net, StepRunner* runner,
                           bool accumulate) {
  const bool backward = &tasks == &backward_;
  const bool logs = net->graph_.spec.debug_info;
  if (!logs && !Traced(net->trace_)) {
    runner->Run([=](const PlanStep& step) { net->Run(step, accumulate); }, nullptr);
    return;
  }
  const std::vector<PlanStep>& steps = backward ? net->plan().backward : net->plan().forward;
  for (size_t i = tasks.ranges[task].first; i < tasks.ranges[task].second; ++i) {
    net->RunTraced(steps[i], accumulate);
    if (logs) net->LogMagnitudes(steps[i], backward);
  }
}

double StagedPasses::Loss() {
  double loss = 0;
  for (const Part& part : parts_) loss += part.net->losses_.Sum();
  return loss / static_cast<double>(parts_.size());
}

}  // namespace doppio
