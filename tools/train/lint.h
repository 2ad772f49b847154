// What is no mistake, but probably not what the user meant.
#ifndef DOPPIO_TOOLS_TRAIN_LINT_H_
#define DOPPIO_TOOLS_TRAIN_LINT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/spec/prototxt.h"
#include "core/net/spec/warning.h"

namespace doppio {

// As log lines, "net.prototxt:3:1: text".
void LogWarnings(const std::vector<Warning>& warnings);

// Whether nothing here obeys a field, whatever its value.
bool HasNoEffectHere(const google::protobuf::FieldDescriptor& field);

// Fields of Caffe's forks that are read so that their files work, but change nothing here.
std::vector<Warning> IgnoredFields(const google::protobuf::Message& message,
                                   const FieldPlaces& places);

// Blobs that no layer reads although the net has a loss.
std::vector<Warning> LooseEnds(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_LINT_H_
