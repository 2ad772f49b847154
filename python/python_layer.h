// The layer `Python`, computed by a class of the user's.
#ifndef DOPPIO_PYTHON_PYTHON_LAYER_H_
#define DOPPIO_PYTHON_PYTHON_LAYER_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "core/net/graph/layer.h"

namespace doppio {

// The user's object behind a kernel; null where it is no such layer's. With the GIL.
pybind11::object InstanceOf(Kernel* kernel);

// Arrays that the layer shows of its parameters keep `owner`, which keeps their memory. Does
// nothing for other kernels.
void TellOwnerOfParams(Kernel* kernel, const std::shared_ptr<void>& owner);

// Of the pass that the calling thread is in; 0 and 1 outside of any.
int CurrentRank();
int CurrentRanks();

}  // namespace doppio

#endif  // DOPPIO_PYTHON_PYTHON_LAYER_H_
