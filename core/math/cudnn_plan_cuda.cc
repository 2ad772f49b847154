#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/math/cudnn_plan.h"

namespace doppio {
namespace {

constexpr int64_t kMaxConfigurations = 64;  // maximum number of configurations to read
constexpr size_t kMaxPacks = 64;  // combinations of addresses whose descriptors a plan keeps

// Reads an attribute that contains several descriptors of one type, at most `room` of them. Passing
// the maximum avoids asking for their number, which cuDNN reports only for some attributes.
std::vector<CudnnBackendDescriptor> ReadDescriptors(const CudnnBackendDescriptor& from,
                                                    cudnnBackendAttributeName_t name,
                                                    cudnnBackendDescriptorType_t type,
                                                    int64_t room) {
  std::vector<CudnnBackendDescriptor> things;
  std::vector<cudnnBackendDescriptor_t> descriptors;
  for (int64_t i = 0; i < room; ++i) {
    things.emplace_back(type);
    descriptors.push_back(things.back().get());
  }
  const int64_t read = from.Get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, descriptors.data());
  things.erase(things.begin() + read, things.end());
  return things;
}

AlgorithmChoice ChoiceOf(const CudnnBackendDescriptor& configuration,
                         const CudnnBackendDescriptor& engine) {
  AlgorithmChoice choice(1);
  engine.Get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &choice[0]);
  for (const CudnnBackendDescriptor& knob :
       ReadDescriptors(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                       CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t type{};
    int64_t value = 0;
    knob.Get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    knob.Get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
    choice.push_back(static_cast<int64_t>(type));
    choice.push_back(value);
  }
  return choice;
}

}  // namespace

CudnnPlan::CudnnPlan(const CudnnTarget& target, std::vector<CudnnBackendDescriptor> parts,
                     CudnnBackendDescriptor plan, int64_t workspace_bytes, AlgorithmChoice choice)
    : target_(target),
      parts_(std::move(parts)),
      plan_(std::move(plan)),
      workspace_bytes_(workspace_bytes),
      choice_(std::move(choice)) {}

void CudnnPlan::Run(const std::vector<Place>& places, void* workspace, const char* doing) {
  auto found = std::find_if(packs_.begin(), packs_.end(), [&](const Pack& pack) {
    return pack.workspace == workspace && pack.places == places;
  });
  if (found == packs_.end()) {
    std::vector<int64_t> ids;
    std::vector<const void*> data;
    for (const Place& place : places) {
      ids.push_back(static_cast<int64_t>(place.role));
      data.push_back(place.data);
    }
    CudnnBackendDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.SetInts(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             static_cast<int64_t>(data.size()), data.data());
    pack.SetOne(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.Finish(doing);
    // An enqueued or recorded execution no longer needs its variant pack, so the oldest one can be
    // dropped.
    if (packs_.size() == kMaxPacks) packs_.pop_front();
    packs_.push_back({places, workspace, std::move(pack)});
    found = packs_.end() - 1;
  }
  CheckCudnn(Cudnn().cudnnBackendExecute(target_.handle, plan_.get(), found->pack.get()), doing);
}

CudnnHeuristics::Plans CudnnHeuristics::Best(size_t max_plans, Patience patience,
                                             int64_t skipped) const {
  const auto begun = std::chrono::steady_clock::now();
  Plans best;
  std::vector<std::unique_ptr<CudnnPlan>>& plans = best.plans;
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnBackendDescriptor& configuration : Configurations(mode)) {
      if (plans.size() == max_plans) return best;
      if (best.examined < skipped) {
        ++best.examined;
        continue;
      }
      if (!plans.empty() && std::chrono::steady_clock::now() - begun > patience) {
        best.cut_short = true;
        return best;
      }
      ++best.examined;
      std::vector<CudnnBackendDescriptor> parts;
      parts.push_back(std::move(configuration));
      std::unique_ptr<CudnnPlan> plan = MakePlan(std::move(parts));
      const auto same = [&](const auto& other) { return other->choice() == plan->choice(); };
      if (plan != nullptr && std::none_of(plans.begin(), plans.end(), same))
        plans.push_back(std::move(plan));
    }
  }
  return best;
}

std::unique_ptr<CudnnPlan> CudnnHeuristics::PlanFor(const AlgorithmChoice& choice) const {
  if (choice.size() % 2 != 1) return nullptr;
  try {
    std::vector<CudnnBackendDescriptor> parts;
    parts.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    parts.emplace_back(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    CudnnBackendDescriptor& engine = parts[1];
    engine.SetDescriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_.operations());
    engine.SetOne(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, choice[0]);
    if (graph_.target().properties != nullptr) {
      engine.SetDescriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, *graph_.target().properties);
    }
    engine.Finish("taking an engine");
    parts[0].SetDescriptor(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    std::vector<cudnnBackendDescriptor_t> knobs;
    for (size_t i = 1; i < choice.size(); i += 2) {
      parts.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      CudnnBackendDescriptor& knob = parts.back();
      const auto type = static_cast<cudnnBackendKnobType_t>(choice[i]);
      knob.SetOne(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
      knob.SetOne(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, choice[i + 1]);
      knob.Finish("setting an engine");
      knobs.push_back(knob.get());
    }
    if (!knobs.empty()) {
      parts[0].Set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                   static_cast<int64_t>(knobs.size()), knobs.data());
    }
    parts[0].Finish("setting an engine");
    return MakePlan(std::move(parts));
  } catch (const DeviceError&) {
    return nullptr;  // a choice of another version of cuDNN, or not a choice of cuDNN
  }
}

std::vector<CudnnBackendDescriptor> CudnnHeuristics::Configurations(
    cudnnBackendHeurMode_t mode) const {
  try {
    CudnnBackendDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_.operations());
    heuristics.SetOne(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (graph_.target().properties != nullptr) {
      heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *graph_.target().properties);
    }
    if (!heuristics.Complete()) return {};
    return ReadDescriptors(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxConfigurations);
  } catch (const DeviceError&) {
    return {};  // cuDNN fails if no engine can compute the graph
  }
}

// Creates a plan from parts[0], a configuration, and keeps `parts` alive with it. Returns null if
// cuDNN cannot create the plan or if it exceeds the limits.
std::unique_ptr<CudnnPlan> CudnnHeuristics::MakePlan(
    std::vector<CudnnBackendDescriptor> parts) const {
  try {
    const CudnnBackendDescriptor& configuration = parts[0];
    const std::vector<CudnnBackendDescriptor> engine = ReadDescriptors(
        configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    if (engine.empty() || !Permits(engine[0])) return nullptr;
    CudnnBackendDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    const CudnnTarget& target = graph_.target();
    if (target.properties != nullptr) {
      plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
    } else {
      plan.SetOne(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    }
    plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (!plan.Complete()) return nullptr;
    int64_t bytes = 0;
    plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
    if (bytes > settings_.workspace_bytes) return nullptr;
    AlgorithmChoice choice = ChoiceOf(configuration, engine[0]);
    return std::unique_ptr<CudnnPlan>(
        new CudnnPlan(target, std::move(parts), std::move(plan), bytes, std::move(choice)));
  } catch (const DeviceError&) {
    return nullptr;
  }
}

// Returns true if the engine stays within the limits and keeps inputs and partial sums in full
// precision.
bool CudnnHeuristics::Permits(const CudnnBackendDescriptor& engine) const {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  notes.resize(engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data()));
  return std::none_of(notes.begin(), notes.end(), [&](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
           (settings_.deterministic && note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  });
}

}  // namespace doppio
