// Finalizing and reading descriptors of cuDNN's backend: what the values of backend_descriptor.h
// mean together.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_PLAN_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_PLAN_H_

#include <cudnn.h>

#include <cstdint>
#include <memory>

#include "tests/double/cudnn/backend_engines.h"

namespace doppio::gpu_double {

struct BackendPlan {
  std::shared_ptr<const BackendGraph> graph;
  int64_t engine = 0;
  cudnnHandle_t handle = nullptr;  // null for a plan for a device that was only described
  int64_t workspace_bytes = 0;     // that an execution overwrites
};

// Checks the values and makes what follows from them. Throws BackendError; the descriptor is then
// as before, as in cuDNN.
void FinalizeDescriptor(Descriptor* descriptor);

// The value of an attribute of a finalized descriptor: as set, or computed; null when it was not
// set.
std::unique_ptr<AttributeValue> ReadAttribute(const Descriptor& descriptor,
                                              cudnnBackendAttributeName_t name);

// Runs the plan on what the pack names, on the stream of the handle (cudnnBackendExecute). Both are
// finalized; what is needed of them is copied. In two steps, so that the caller need not hold a
// lock while work runs: the first one checks and throws BackendError.
struct BackendExecution {
  BackendPlan plan;
  std::map<int64_t, void*> pointers;  // by the tensors' unique ids
  void* workspace = nullptr;
};
BackendExecution PrepareExecution(cudnnHandle_t handle, const Descriptor& plan,
                                  const Descriptor& pack);
cudnnStatus_t Execute(cudnnHandle_t handle, const BackendExecution& execution);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_PLAN_H_
