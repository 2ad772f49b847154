// Graphs of CUDA's runtime. A graph can only come from a capture. An executable graph shares the
// plan of its graph, and each launch keeps the plan alive until it is done.
#include "tests/double/machine/fault.h"
#include "tests/double/machine/journal.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

template <typename Type, typename Handle>
Type* Known(Handle handle, const char* what) {
  if (TheMachine().handles.count(handle) == 0) {
    Fault("graph", std::string(what) + " is used that was never created or is destroyed");
  }
  return reinterpret_cast<Type*>(handle);
}

Graph* FindGraph(cudaGraph_t handle) { return Known<Graph>(handle, "a graph"); }
GraphExec* FindExec(cudaGraphExec_t handle) {
  return Known<GraphExec>(handle, "an executable graph");
}

cudaGraphNodeType TypeOf(const Task& task) {
  if (task.host_function) return cudaGraphNodeTypeHost;
  const auto counter = task.work.counter;
  if (counter == &Counters::clearings) return cudaGraphNodeTypeMemset;
  if (counter == &Counters::uploads || counter == &Counters::downloads ||
      counter == &Counters::copies) {
    return cudaGraphNodeTypeMemcpy;
  }
  return cudaGraphNodeTypeKernel;
}

// Checks that the captured arguments still point to live memory. The executor repeats this check
// when the nodes run.
void CheckLaunch(const Plan& plan) {
  for (const Node& node : plan.nodes) {
    for (const Access& access : node.task->work.accesses) {
      Block block;
      if (access.bytes == 0 || FindBlock(access.at, &block) || !IsDeviceAddress(access.at))
        continue;
      Fault("lifetime", "a graph is launched whose node " + node.task->work.what + " touches " +
                            Describe(access.at) + ", which was freed after the capture");
    }
  }
}

// Frees the memory of the first node with known accesses.
void FreeMemoryOf(const Plan& plan) {
  for (const Node& node : plan.nodes) {
    Block block;
    if (node.task->work.accesses.empty() || !FindBlock(node.task->work.accesses[0].at, &block)) {
      continue;
    }
    FreeDevice(block.begin);
    return;
  }
}

cudaError_t Launch(Lock& lock, GraphExec* exec, Stream* stream) {
  if (const cudaError_t error = ErrorOf(stream->device)) return error;
  // CUDA makes a child graph here, which the double does not support.
  if (stream->capture != nullptr) {
    return Invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  CheckLaunch(*exec->plan);
  if (Planted("stale-graph")) {
    static std::map<int, GraphExec*> first;
    exec = first.emplace(stream->device, exec).first->second;
  }
  OrderWithLegacy(stream);
  // Launches of one executable graph never overlap.
  if (exec->last != nullptr && exec->last->stream != stream) WaitOn(stream, exec->last);
  std::shared_ptr<Item> item = NewWork(exec->plan, exec->lanes);
  PreparePinned(item.get());
  Push(stream, std::move(item));
  stream->upload_last = false;
  exec->last = RecordOn(stream);
  Count(&Counters::graph_launches);
  NoteCall("graph", GraphText(*exec->plan), stream->Name());
  if (const cudaError_t error = CountEnqueued(stream)) return error;
  Progress(lock);
  return cudaSuccess;
}

// Returns null if `plan` can replace the executable graph's plan. Otherwise returns the node that
// differs, or null with *result set.
const Node* Differs(const Plan& old_plan, const Plan& plan, cudaGraphExecUpdateResult* result) {
  *result = cudaGraphExecUpdateErrorTopologyChanged;
  if (old_plan.nodes.size() != plan.nodes.size() || old_plan.lanes != plan.lanes) return nullptr;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const Node& before = old_plan.nodes[i];
    const Node& after = plan.nodes[i];
    if (before.needs != after.needs || before.lane != after.lane) return &after;
    if (TypeOf(*before.task) == TypeOf(*after.task)) continue;
    *result = cudaGraphExecUpdateErrorNodeTypeChanged;
    return &after;
  }
  *result = cudaGraphExecUpdateSuccess;
  return nullptr;
}

cudaGraphNode_t HandleOf(const Node* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node));
}

}  // namespace

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return Call([&](Lock&) {
    if (const cudaError_t error = ErrorOf(CurrentDevice())) return error;
    auto* made = new GraphExec;
    made->plan = FindGraph(graph)->plan;
    for (int i = 0; i < made->plan->lanes; ++i) {
      made->lanes.push_back(TakeLane(&TheMachine(), "a branch of a graph"));
    }
    if (Planted("freed-early")) FreeMemoryOf(*made->plan);
    TheMachine().handles.insert(made);
    *exec = reinterpret_cast<cudaGraphExec_t>(made);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return Call([&](Lock& lock) { return Launch(lock, FindExec(exec), FindStream(stream)); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return Call([&](Lock&) {
    FindExec(exec);
    return ErrorOf(FindStream(stream)->device);
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return Call([&](Lock&) {
    GraphExec* exec = FindExec(handle);
    const std::shared_ptr<const Plan>& plan = FindGraph(graph)->plan;
    cudaGraphExecUpdateResultInfo told{};
    told.errorNode = HandleOf(Differs(*exec->plan, *plan, &told.result));
    if (info != nullptr) *info = told;
    if (told.result != cudaGraphExecUpdateSuccess) return cudaErrorGraphExecUpdateFailure;
    exec->plan = plan;  // queued launches keep the old plan
    return cudaSuccess;
  });
}

// Frees what the handle refers to. The handle itself is never reused, so that stale handles are
// detected.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return Call([&](Lock&) {
    GraphExec* exec = FindExec(handle);
    TheMachine().handles.erase(exec);
    *exec = GraphExec();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return Call([&](Lock&) {
    Graph* graph = FindGraph(handle);
    TheMachine().handles.erase(graph);
    *graph = Graph();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return Call([&](Lock&) {
    const Plan& plan = *FindGraph(handle)->plan;
    if (nodes == nullptr) {
      *count = plan.nodes.size();
      return cudaSuccess;
    }
    for (size_t i = 0; i < *count; ++i) {
      nodes[i] = i < plan.nodes.size() ? HandleOf(&plan.nodes[i]) : nullptr;
    }
    *count = std::min(*count, plan.nodes.size());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return Call([&](Lock&) {
    *type = TypeOf(*reinterpret_cast<const Node*>(node)->task);
    return cudaSuccess;
  });
}

}  // extern "C"

}  // namespace doppio::gpu_double
