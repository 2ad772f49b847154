// Which messages of LayerParameter (convolution_param, ...) a layer type reads. The graph hides all
// others from LayerType::infer, so a message that a type does not declare has no effect.
#ifndef DOPPIO_CORE_NET_GRAPH_READ_FIELDS_H_
#define DOPPIO_CORE_NET_GRAPH_READ_FIELDS_H_

#include <string>
#include <vector>

#include "core/net/contract/layer.h"
#include "proto/net.pb.h"

namespace doppio {

// Returns true if layers of a registered type read this message, and not only some of its fields.
bool ReadsMessage(const std::string& layer_type, const std::string& message);
// Returns all such messages of a type, in the schema's order.
std::vector<std::string> ReadMessages(const std::string& layer_type);

// Returns the paths of what is set in the layer but not read by its type: messages ("relu_param"),
// and fields of messages that the type reads in part ("data_param.source"). Returns none for a type
// that is not registered.
std::vector<std::string> UnreadFields(const LayerParameter& layer);

// Returns what `type` infers for the layer, of which it sees only what it reads. Throws UserError
// for a message that the type refuses, and what infer throws.
LayerShape InferShape(const LayerType& type, const LayerSpec& spec,
                      const std::vector<Shape>& bottoms);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_READ_FIELDS_H_
