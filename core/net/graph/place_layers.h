// Places the layers of a net on devices, as the user asks, and divides the net into stages.
#ifndef DOPPIO_CORE_NET_GRAPH_PLACE_LAYERS_H_
#define DOPPIO_CORE_NET_GRAPH_PLACE_LAYERS_H_

#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// Sets Graph::places and the place and stage of each node. The first rule of
// graph->spec.options.place whose pattern matches decides, else the layer's field `device`, else
// the place of the layer before. A data layer is computed where its first reader is.
//
// A stage is a set of layers on one place that run one after the other. Stages run in the order of
// their numbers: a layer reads only from its own and from lower stages, and is in the lowest stage
// of its place for which this holds and which is not lower than the stage of an earlier layer of
// the place. Without placement, all layers are in stage 0.
//
// Throws the mistakes of the user: unknown devices, devices of several kinds, rules that match no
// layer, data layers away from their first reader, and parameters shared between places.
void PlaceLayers(Graph* graph);

// Removes the rules that match no layer of `spec`, for a test net that has not all layers of the
// train net.
void DropUnusedRules(NetSpec* spec);

// Returns all nodes in the order in which they run: by stage, then as in the file.
std::vector<int> RunningOrder(const Graph& graph);

// Returns the names of all devices of the graph's places, each once, in the order of the layers.
std::vector<std::string> PlacedDeviceNames(const Graph& graph);

// Returns the number of layers of a place.
int LayersAt(const Graph& graph, int place);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_PLACE_LAYERS_H_
