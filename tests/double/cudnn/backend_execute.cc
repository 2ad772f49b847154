#include <algorithm>

#include "tests/double/cudnn/backend_compute.h"
#include "tests/double/cudnn/backend_plan.h"
#include "tests/double/cudnn/common.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

Strided At(const BackendTensor& tensor, void* data) {
  return {tensor.type, tensor.dims, tensor.strides, data};
}

// Plants a mistake: swaps two tensors with equal extents and types.
void SwapTwo(const BackendGraph& graph, std::map<int64_t, void*>* pointers) {
  for (auto& [first, at] : *pointers) {
    for (auto& [second, other] : *pointers) {
      const BackendTensor& a = graph.tensors.at(first);
      const BackendTensor& b = graph.tensors.at(second);
      if (first >= second || a.dims != b.dims || a.type != b.type) continue;
      std::swap(at, other);
      return;
    }
  }
}

// Checks overlaps of results with other tensors. A result may overwrite a tensor that only
// pointwise operations read, if each element is at the position of its own result. Any other
// overlap is a fault.
void CheckOverlaps(const BackendGraph& graph, const BackendExecution& execution) {
  struct Range {
    std::string what;
    const char *begin, *end;
    const BackendTensor* tensor;
  };
  std::vector<Range> ranges;
  for (const auto& [id, at] : execution.pointers) {
    const BackendTensor& tensor = graph.tensors.at(id);
    const char* begin = static_cast<const char*>(at);
    ranges.push_back({tensor.ToString(), begin, begin + ExtentBytes(At(tensor, at)), &tensor});
  }
  const char* workspace = static_cast<const char*>(execution.workspace);
  ranges.push_back(
      {"the workspace", workspace, workspace + execution.plan.workspace_bytes, nullptr});
  const auto writes = [&](const Range& range) {
    return range.tensor == nullptr || graph.IsWritten(range.tensor->id);
  };
  const auto in_place = [&](const Range& a, const Range& b) {
    if (a.tensor == nullptr || b.tensor == nullptr || a.begin != b.begin) return false;
    const BackendOperation& op = graph.convolution();
    for (const Range* one : {&a, &b}) {
      const int64_t id = one->tensor->id;
      if (!writes(*one) && (id == op.a || id == op.b)) return false;
    }
    return a.tensor->type == b.tensor->type && a.tensor->dims == b.tensor->dims &&
           a.tensor->strides == b.tensor->strides;
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Range &a = ranges[i], &b = ranges[j];
      if (a.begin >= b.end || b.begin >= a.end || !(writes(a) || writes(b))) continue;
      if (!in_place(a, b)) Fault("overlap", a.what + " and " + b.what + " lie in the same memory");
    }
  }
}

}  // namespace

BackendExecution PrepareExecution(cudnnHandle_t handle, const Descriptor& plan,
                                  const Descriptor& pack) {
  const cudnnStatus_t status = UseHandle(handle, "cudnnBackendExecute");
  if (status != CUDNN_STATUS_SUCCESS) Refuse(status, "the handle is null");
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    Refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "it takes a plan and a variant pack");
  }
  if (!plan.finalized || !pack.finalized) {
    Refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan or the pack is not finalized");
  }
  CheckAlive(plan, "cudnnBackendExecute");
  BackendExecution execution;
  execution.plan = *plan.plan;
  const BackendGraph& graph = *execution.plan.graph;
  Require(execution.plan.handle == nullptr || execution.plan.handle->device == handle->device,
          "the plan is for another device");
  const auto ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto data = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = graph.tensors.find(ids[i]);
    Require(found != graph.tensors.end() && !found->second.is_virtual,
            "the pack names tensor " + std::to_string(ids[i]) + ", which the graph has not");
    execution.pointers[ids[i]] = data[i];
  }
  for (const auto& [id, tensor] : graph.tensors) {
    Require(tensor.is_virtual || execution.pointers.count(id) > 0,
            "the pack has no pointer for " + tensor.ToString());
  }
  execution.workspace = pack.One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (Planted("graph-wrong-role")) SwapTwo(graph, &execution.pointers);
  return execution;
}

cudnnStatus_t Execute(cudnnHandle_t handle, const BackendExecution& execution) {
  const BackendGraph& graph = *execution.plan.graph;
  const BackendEngine& engine = BackendEngines()[static_cast<size_t>(execution.plan.engine)];
  Work work;
  work.what = std::string("cudnnBackendExecute (engine \"") + engine.what + "\")";
  for (const auto& [id, at] : execution.pointers) {
    const BackendTensor& tensor = graph.tensors.at(id);
    const Strided placed = At(tensor, at);
    CheckDeviceMemory(handle->device, at, ExtentBytes(placed), tensor.alignment,
                      work.what + ", " + tensor.ToString());
    if (graph.IsRead(id)) Append(&work.accesses, AccessesOf(placed, false));
    if (graph.IsWritten(id)) Append(&work.accesses, AccessesOf(placed, true));
  }
  const int64_t bytes = execution.plan.workspace_bytes;
  CheckWorkspace(handle->device, execution.workspace, bytes, bytes, work.what);
  CheckOverlaps(graph, execution);
  if (bytes > 0) work.accesses.push_back({execution.workspace, bytes, true});
  if (ExecutionFails()) {
    return Answer(CUDNN_STATUS_EXECUTION_FAILED, work.what + " fails because cudnn_fail says so");
  }
  work.run = [execution, numerics = engine.numerics] {
    FillWithGarbage(execution.workspace, execution.plan.workspace_bytes);
    Compute(*execution.plan.graph, execution.pointers, numerics);
    return std::vector<Access>();
  };
  return EnqueueOn(handle, std::move(work));
}

}  // namespace doppio::gpu_double
