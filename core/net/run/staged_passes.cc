#include "core/net/run/staged_passes.h"

#include <algorithm>
#include <string>

#include "core/net/contract/carried_state.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/memory_source.h"
#include "core/net/contract/place_rule.h"
#include "core/net/contract/sample_source.h"

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

StagedPasses::Part::Part(Net* net)
    : net(net), forward_tasks(net->plan().forward), backward_tasks(net->plan().backward) {
  const Plan& plan = net->plan();
  for (size_t i = 0; i < forward_tasks.ranges.size(); ++i)
    forward.emplace_back(plan, plan.forward, forward_tasks.ranges[i],
                         plan.devices[forward_tasks.places[i]]);
  for (size_t i = 0; i < backward_tasks.ranges.size(); ++i) {
    Device* const device = plan.devices[backward_tasks.places[i]];
    replace.emplace_back(plan, plan.backward, backward_tasks.ranges[i], device);
    add.emplace_back(plan, plan.backward, backward_tasks.ranges[i], device);
  }
}

StagedPasses::StagedPasses(Net* first) : first_(*first) {
  FixShapes();
  AddPart(first);
  PlanOptions options = first_.passes().options();
  const int parts = first_.graph().spec.options.microbatches;
  for (options.microbatch = 1; options.microbatch < parts; ++options.microbatch) {
    others_.push_back(std::make_unique<Net>(first_.graph(), options, &first_.params()));
    AddPart(others_.back().get());
  }
  MakeTeam();
}

// Fixes the shapes of sources. Trainings with other layers that do not support placement are
// refused before (core/net/contract/combinations.h).
void StagedPasses::FixShapes() const {
  const bool parts = first_.graph().spec.options.microbatches > 1;
  for (size_t n = 0; n < first_.graph().nodes.size(); ++n) {
    Kernel* const kernel = first_.plan().kernels[n].get();
    if (kernel == nullptr) continue;
    ChangesTops* const changer = ChangerOf(kernel);
    DOPPIO_CHECK(changer == nullptr || changer->FixShapes(), "placed layers keep their shapes");
    const CarriesState* const state = StateOf(kernel);
    DOPPIO_CHECK(!parts || state == nullptr || state->State().empty(),
                 "no micro-batch carries a state");
    DOPPIO_CHECK(!parts || Capability<MemorySource>(kernel) == nullptr,
                 "no micro-batch has samples from a program");
  }
}

void StagedPasses::AddPart(Net* net) {
  parts_.emplace_back(net);
  DOPPIO_CHECK(parts_.back().forward_tasks.places == parts_[0].forward_tasks.places &&
                   parts_.back().backward_tasks.places == parts_[0].backward_tasks.places,
               "micro-batches with different tasks");
}

// Starts a thread for each device, and orders the tasks.
void StagedPasses::MakeTeam() {
  std::vector<Device*> devices;
  const std::vector<std::string>& places = first_.graph().places;
  for (size_t place = 0; place < places.size(); ++place) {
    place_devices_.emplace_back();
    for (size_t part = 0; part < std::min(parts_.size(), DevicesOfPlace(places[place]).size());
         ++part) {
      Device* const device = parts_[part].net->plan().devices[place];
      auto known = std::find(devices.begin(), devices.end(), device);
      if (known == devices.end()) known = devices.insert(known, device);
      place_devices_.back().push_back(static_cast<int>(known - devices.begin()));
    }
  }
  const auto order = [&](const Tasks& tasks) {
    std::vector<std::vector<int>> runs;
    for (const int place : tasks.places) runs.push_back(place_devices_[place]);
    return TaskOrder(runs, static_cast<int>(devices.size()), static_cast<int>(parts_.size()));
  };
  forward_order_ = order(parts_[0].forward_tasks);
  backward_order_ = order(parts_[0].backward_tasks);
  team_.emplace(devices);
}

// Makes the other micro-batches follow the first one. They read parts of one batch, as ranks do.
void StagedPasses::Align() {
  Pass& pass = first_.pass();
  pass.ranks = static_cast<int>(parts_.size());
  for (size_t i = 0; i < others_.size(); ++i) {
    Net& net = *others_[i];
    net.pass() = pass;
    net.pass().rank = net.pass().writer = static_cast<int>(i) + 1;
    for (size_t n = 0; n < first_.graph().nodes.size(); ++n) {
      const SampleSource* const leads = SourceOf(first_.plan().kernels[n].get());
      if (leads == nullptr) continue;
      auto* const follows = Capability<SampleSource>(net.plan().kernels[n].get());
      if (follows->position() != leads->position()) follows->Seek(leads->position());
    }
  }
}

void StagedPasses::Forward() {
  Align();
  first_.params().replicas().CopyValues();
  team_->Run(forward_order_, [this](int task, int part) {
    RunTask(parts_[part], false, task, &parts_[part].forward[task], false);
  });
  for (const Part& part : parts_) part.net->passes().EndForward();
}

void StagedPasses::Backward(bool accumulate, GradientSink* sink) {
  // Backward uses the random numbers of the forward before it.
  for (const Part& part : parts_) --part.net->pass().step;
  team_->Run(backward_order_, [this, accumulate](int task, int part) {
    Part& its = parts_[part];
    const size_t replicas = place_devices_[its.backward_tasks.places[task]].size();
    // The gradients of earlier passes are with the first device.
    const bool adds = static_cast<size_t>(part) >= replicas || (accumulate && part == 0);
    RunTask(its, true, task, adds ? &its.add[task] : &its.replace[task], adds);
  });
  first_.params().replicas().AddGradients();
  for (const Part& part : parts_) part.net->passes().EndBackward();
  if (sink == nullptr) return;
  for (const PlanStep& step : first_.plan().backward) {
    for (int param : step.ready) sink->Ready(param);
  }
}

void StagedPasses::RunTask(const Part& part, bool backward, int task, StepRunner* runner,
                           bool accumulate) {
  Net* const net = part.net;
  StepExecutor* const executor = &net->passes().steps();
  if (!executor->shows()) {
    runner->Run([=](const PlanStep& step) { executor->Run(step, accumulate); }, nullptr);
    return;
  }
  const std::vector<PlanStep>& steps = backward ? net->plan().backward : net->plan().forward;
  const auto& [begin, end] = (backward ? part.backward_tasks : part.forward_tasks).ranges[task];
  for (size_t i = begin; i < end; ++i) executor->RunShown(steps[i], accumulate);
}

double StagedPasses::Loss() {
  double loss = 0;
  for (const Part& part : parts_) loss += part.net->passes().running().losses.Sum();
  return loss / static_cast<double>(parts_.size());
}

}  // namespace doppio
