// Finalizes and reads descriptors of cuDNN's backend. This is where the attributes of a descriptor
// (backend_descriptor.h) are interpreted together.
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
  int64_t workspace_bytes = 0;     // an execution overwrites this many bytes
};

// Checks the values and computes the results of finalization. Throws BackendError. The descriptor
// is then unchanged, as in cuDNN.
void FinalizeDescriptor(Descriptor* descriptor);

// Returns the value of an attribute of a finalized descriptor, as set or computed; null if it was
// not set.
std::unique_ptr<AttributeValue> ReadAttribute(const Descriptor& descriptor,
                                              cudnnBackendAttributeName_t name);

// Runs a plan on the memory that `pack` names, on the stream of the handle (cudnnBackendExecute).
// Both descriptors must be finalized; the execution copies what it needs. There are two steps, so
// that the caller need not hold a lock while work runs. The first step checks the arguments and
// throws BackendError.
struct BackendExecution {
  BackendPlan plan;
  std::map<int64_t, void*> pointers;  // by unique id of the tensor
  void* workspace = nullptr;
};
BackendExecution PrepareExecution(cudnnHandle_t handle, const Descriptor& plan,
                                  const Descriptor& pack);
cudnnStatus_t Execute(cudnnHandle_t handle, const BackendExecution& execution);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_PLAN_H_
