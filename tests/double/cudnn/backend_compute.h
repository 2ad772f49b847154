// Computes graphs of cuDNN's backend.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_COMPUTE_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_COMPUTE_H_

#include <cstdint>
#include <map>

#include "tests/double/cudnn/backend_engines.h"

namespace doppio::gpu_double {

// Computes all operations on the tensors at `pointers` (by unique id). Device memory must be open.
// Virtual tensors are floats and never rounded. Other tensors are rounded once, when they are
// stored.
void Compute(const BackendGraph& graph, const std::map<int64_t, void*>& pointers,
             Numerics numerics);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_COMPUTE_H_
