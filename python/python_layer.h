// The layer `Python`, which is computed by a class that the user writes.
#ifndef DOPPIO_PYTHON_PYTHON_LAYER_H_
#define DOPPIO_PYTHON_PYTHON_LAYER_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "core/net/contract/layer.h"

namespace doppio {

// Returns the user's object that `kernel` calls, or None if the kernel belongs to another layer
// type. Requires the GIL.
pybind11::object InstanceOf(Kernel* kernel);

// Makes arrays that show the layer's parameters keep `owner`, which keeps the parameters' memory
// alive. Does nothing for other kernels.
void SetOwnerOfParams(Kernel* kernel, const std::shared_ptr<void>& owner);

// Rank of the pass that runs on the calling thread, and the number of ranks; 0 and 1 outside a
// pass.
int CurrentRank();
int CurrentRanks();

}  // namespace doppio

#endif  // DOPPIO_PYTHON_PYTHON_LAYER_H_
