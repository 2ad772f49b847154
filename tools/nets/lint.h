// Warnings about settings that are valid but probably not what the user meant.
#ifndef DOPPIO_TOOLS_NETS_LINT_H_
#define DOPPIO_TOOLS_NETS_LINT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/graph/graph.h"
#include "core/net/spec/prototxt.h"

namespace doppio {

// Logs each warning as "net.prototxt:3:1: text".
void LogWarnings(const std::vector<Warning>& warnings);

// Returns true if Doppio ignores the field, whatever its value.
bool HasNoEffectHere(const google::protobuf::FieldDescriptor& field);

// Returns warnings for fields that are set in `message` but have no effect in Doppio: fields of
// Caffe's forks, which are accepted so that files for these forks load, old transformation fields
// of data layers, and messages of another layer type.
std::vector<Warning> IgnoredFields(const google::protobuf::Message& message,
                                   const FieldPlaces& places);

// Returns warnings for blobs that no layer reads, if the net has a loss.
std::vector<Warning> LooseEnds(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_LINT_H_
