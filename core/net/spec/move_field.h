// Copies values of a message to a layer under other names, together with their places in the file.
#ifndef DOPPIO_CORE_NET_SPEC_MOVE_FIELD_H_
#define DOPPIO_CORE_NET_SPEC_MOVE_FIELD_H_

#include <google/protobuf/message.h>

#include <string>

#include "core/net/spec/prototxt.h"
#include "proto/net.pb.h"

namespace doppio {

// A layer that is filled from other messages. The places of its fields are recorded in `places`,
// with the prefix `prefix` ("layer[3].").
struct Rewritten {
  LayerParameter* layer;
  FieldPlaces* places;
  std::string prefix;
};

// Copies all values of `field`, single or repeated, from `from` to field `path` of `to`. `at` has
// the places of `from`. The path "convolution_param.num_output" creates the message in between; for
// "param.lr_mult", with repeated `param`, value i goes to element i. Numbers and enum values are
// converted (enum values by name). Values are appended to a repeated target and replace a single
// one. Returns false if the target cannot hold a value, for example a negative one.
bool MoveField(const google::protobuf::Message& from, const FieldPlaces& at,
               const google::protobuf::FieldDescriptor& field, const std::string& path,
               const Rewritten& to);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_MOVE_FIELD_H_
