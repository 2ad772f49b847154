// Layers of Doppio that stand for well-known layers in Python, such as those of py-faster-rcnn.
// Their modules need extensions that many machines lack.
#ifndef DOPPIO_CORE_NET_GRAPH_STAND_IN_H_
#define DOPPIO_CORE_NET_GRAPH_STAND_IN_H_

#include "core/net/spec/spec.h"

namespace doppio {

// Changes the type of a layer of type Python to the registered type that stands for its class
// (LayerType::StandsFor), and sets `replaced`. Leaves the layer as it is if no type stands for it,
// or if the program can import the module.
void ReplacePythonLayer(LayerSpec* spec);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_STAND_IN_H_
