#include "tests/double/cudnn/backend_plan.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "tests/double/cudnn/common.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kConcealed = int64_t{16} << 20;  // bytes that "graph-workspace-small" hides

cudnnHandle_t CheckedHandle(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const auto handle = descriptor.One<cudnnHandle_t>(name);
  if (!descriptor.Has(name)) return nullptr;
  const cudnnStatus_t status = UseHandle(handle, "cudnnBackendFinalize");
  if (status != CUDNN_STATUS_SUCCESS) Refuse(status, "a handle that is null");
  return handle;
}

const BackendGraph& GraphOf(const Descriptor& engine) {
  return *engine.Referred(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->graph;
}
int64_t IndexOf(const Descriptor& engine) {
  return engine.One<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}
const BackendEngine& EngineOf(const Descriptor& engine) {
  return BackendEngines()[static_cast<size_t>(IndexOf(engine))];
}

void FinalizeDeviceProperties(const Descriptor& properties) {
  CheckedHandle(properties, CUDNN_ATTR_DEVICEPROP_HANDLE);
  const std::vector<char> text = properties.All<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  const std::string json(text.begin(), text.end());
  for (const char* part : {"{", "\"deviceVer\"", "\"multiProcessorCount\"", "}"}) {
    Require(json.empty() || json.find(part) != std::string::npos,
            std::string("the description of a device has no ") + part);
  }
  const int device = properties.One<int>(CUDNN_ATTR_DEVICEPROP_DEVICE_ID);
  Require(device >= 0 && device < TheSettings().devices,
          "there is no device " + std::to_string(device));
}

void FinalizeEngine(const Descriptor& engine) {
  engine.Referred(CUDNN_ATTR_ENGINE_DEVICEPROP);
  const BackendGraph& graph = GraphOf(engine);
  const int64_t index = IndexOf(engine);
  if (index < 0 || index >= static_cast<int64_t>(BackendEngines().size())) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED, "there is no engine " + std::to_string(index));
  }
  const std::string why = WhyNot(EngineOf(engine), graph);
  if (!why.empty()) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED, "engine " + std::to_string(index) + ": " + why);
  }
}

KnobChoices ChoicesOf(const Descriptor& configuration) {
  KnobChoices choices;
  const auto found = configuration.values.find(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  if (found == configuration.values.end()) return choices;
  for (const auto& choice : found->second.referred) {
    Require(choice->finalized, "a knob choice is not finalized");
    const auto type = choice->One<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    const auto value = choice->One<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    Require(choices.emplace(type, value).second, "a knob is chosen twice");
  }
  return choices;
}

void FinalizeConfiguration(const Descriptor& configuration) {
  const Descriptor& engine = *configuration.Referred(CUDNN_ATTR_ENGINECFG_ENGINE);
  const BackendEngine& kind = EngineOf(engine);
  for (const auto& [type, value] : ChoicesOf(configuration)) {
    bool fits = false;
    for (const Knob& knob : kind.knobs) {
      fits |= knob.type == type && value >= knob.least && value <= knob.most &&
              (value - knob.least) % knob.stride == 0;
    }
    if (!fits) {
      Refuse(CUDNN_STATUS_NOT_SUPPORTED, "engine " + std::to_string(IndexOf(engine)) +
                                             " has no knob " + std::to_string(type) +
                                             " with the value " + std::to_string(value));
    }
  }
}

int64_t WorkspaceOf(const Descriptor& configuration) {
  const Descriptor& engine = *configuration.Referred(CUDNN_ATTR_ENGINECFG_ENGINE);
  const BackendEngine& kind = EngineOf(engine);
  return kind.workspace(GraphOf(engine), Complete(kind, ChoicesOf(configuration)));
}

bool Compiles(const BackendEngine& engine) {
  return std::count(engine.behavior.begin(), engine.behavior.end(),
                    CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) > 0;
}

std::shared_ptr<const BackendPlan> MakePlan(const Descriptor& descriptor) {
  const Descriptor& configuration = *descriptor.Referred(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor& engine = *configuration.Referred(CUDNN_ATTR_ENGINECFG_ENGINE);
  BackendPlan plan;
  plan.graph = engine.Referred(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->graph;
  plan.engine = IndexOf(engine);
  plan.handle = CheckedHandle(descriptor, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  Require(plan.handle != nullptr || descriptor.Referred(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP),
          "a plan is for a handle or for described properties of a device");
  Require(plan.graph->handle == plan.handle || plan.graph->handle == nullptr,
          "a plan's handle is not its graph's");
  if (EngineOf(engine).refused) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED, "engine " + std::to_string(plan.engine) + " has no kernel");
  }
  if (plan.handle != nullptr) {
    const cudnnStatus_t status = RefusedAtRandom(plan.engine, *plan.graph);
    if (status != CUDNN_STATUS_SUCCESS) {
      Refuse(status, "engine " + std::to_string(plan.engine) + " does not compute " +
                         plan.graph->signature + " in this process");
    }
  }
  if (Compiles(EngineOf(engine))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(TheSettings().slow_plans));
  }
  plan.workspace_bytes = WorkspaceOf(configuration);
  if (Planted("graph-workspace-small")) plan.workspace_bytes += kConcealed;
  return std::make_shared<const BackendPlan>(std::move(plan));
}

std::shared_ptr<Descriptor> Made(cudnnBackendDescriptorType_t type) {
  auto descriptor = std::make_shared<Descriptor>(type);
  descriptor->finalized = true;
  return descriptor;
}

// Returns the configurations that a heuristic found.
AttributeValue Results(const Descriptor& heuristic) {
  const auto& graph = heuristic.values.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).referred[0];
  const auto mode = heuristic.One<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  AttributeValue results;
  for (const BackendAdvice& advice : Advise(*graph->graph, mode, graph->graph->handle != nullptr)) {
    const auto engine = Made(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {1, {}, {graph}};
    engine->Put<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {advice.engine});
    const auto configuration = Made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration->values[CUDNN_ATTR_ENGINECFG_ENGINE] = {1, {}, {engine}};
    AttributeValue choices;
    for (const auto& [type, value] : advice.choices) {
      const auto choice = Made(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      choice->Put<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, {type});
      choice->Put<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, {value});
      choices.referred.push_back(choice);
    }
    choices.count = static_cast<int64_t>(choices.referred.size());
    if (choices.count > 0) {
      configuration->values[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = std::move(choices);
    }
    results.referred.push_back(configuration);
  }
  results.count = static_cast<int64_t>(results.referred.size());
  return results;
}

// If all engines refuse a graph, cuDNN reports the refusal either in the heuristic or when plans
// are made.
void CheckAdvice(const Descriptor& heuristic) {
  const BackendGraph& graph = *heuristic.Referred(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->graph;
  heuristic.Referred(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  const bool refused = graph.handle != nullptr && RefusedByAll(graph) &&
                       DrawFor("when " + graph.signature + " is refused") % 2 == 0;
  if (refused || Results(heuristic).count == 0) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED, "no engine takes " + graph.signature);
  }
}

AttributeValue KnobsOf(const BackendEngine& engine) {
  AttributeValue knobs;
  for (const Knob& knob : engine.knobs) {
    const auto info = Made(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
    info->Put<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_INFO_TYPE, {knob.type});
    info->Put<int64_t>(CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, {knob.least});
    info->Put<int64_t>(CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, {knob.most});
    info->Put<int64_t>(CUDNN_ATTR_KNOB_INFO_STRIDE, {knob.stride});
    knobs.referred.push_back(info);
  }
  knobs.count = static_cast<int64_t>(knobs.referred.size());
  return knobs;
}

void CheckPack(const Descriptor& pack) {
  const auto ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  Require(ids.size() == pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size(),
          "a variant pack has not as many pointers as unique ids");
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size()) {
    Refuse(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "a variant pack names a tensor twice");
  }
}

template <class T>
std::unique_ptr<AttributeValue> ValueOf(const std::vector<T>& elements) {
  Descriptor holder(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  holder.Put(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, elements);
  return std::make_unique<AttributeValue>(holder.values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX]);
}

}  // namespace

void FinalizeDescriptor(Descriptor* descriptor) {
  Require(!descriptor->finalized,
          std::string("a ") + NameOf(descriptor->type) + " is finalized twice");
  CheckComplete(*descriptor);
  CheckAlive(*descriptor, "cudnnBackendFinalize");
  std::map<int64_t, BackendTensor> tensors;
  switch (descriptor->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      ParseTensor(*descriptor);
      break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      ParseConvolution(*descriptor);
      break;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      CheckPointwise(*descriptor);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      CheckedHandle(*descriptor, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
      descriptor->graph = std::make_shared<const BackendGraph>(ParseGraph(*descriptor));
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      CheckAdvice(*descriptor);
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      FinalizeEngine(*descriptor);
      break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      FinalizeConfiguration(*descriptor);
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      descriptor->plan = MakePlan(*descriptor);
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      CheckPack(*descriptor);
      break;
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      FinalizeDeviceProperties(*descriptor);
      break;
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR: {
      const auto type = descriptor->One<int32_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
      Require(type >= 0 && type < CUDNN_KNOB_TYPE_COUNTS, "there is no such type of knob");
      break;
    }
    case CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR:
      Refuse(CUDNN_STATUS_BAD_PARAM, "knob information is read from an engine");
    default:
      ParseOperation(*descriptor, &tensors);
  }
  descriptor->finalized = true;
}

std::unique_ptr<AttributeValue> ReadAttribute(const Descriptor& descriptor,
                                              cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return ValueOf<int64_t>({static_cast<int64_t>(BackendEngines().size())});
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return std::make_unique<AttributeValue>(Results(descriptor));
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
      return std::make_unique<AttributeValue>(KnobsOf(EngineOf(descriptor)));
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return ValueOf(EngineOf(descriptor).notes);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return ValueOf(EngineOf(descriptor).behavior);
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
      return ValueOf<int64_t>({WorkspaceOf(descriptor)});
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      const int64_t hidden = Planted("graph-workspace-small") ? kConcealed : 0;
      return ValueOf<int64_t>({descriptor.plan->workspace_bytes - hidden});
    }
    default: {
      const auto found = descriptor.values.find(name);
      if (found == descriptor.values.end()) return nullptr;
      return std::make_unique<AttributeValue>(found->second);
    }
  }
}

}  // namespace doppio::gpu_double
