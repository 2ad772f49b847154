// Values of one message taken over into a layer under other names, each with its place in the file.
#ifndef DOPPIO_CORE_NET_SPEC_MOVE_FIELD_H_
#define DOPPIO_CORE_NET_SPEC_MOVE_FIELD_H_

#include <google/protobuf/message.h>

#include <string>

#include "core/net/spec/prototxt.h"
#include "proto/net.pb.h"

namespace doppio {

// A layer that is filled from other messages, and where the places of its fields are noted: under
// `prefix` ("layer[3].") in `places`.
struct Rewritten {
  LayerParameter* layer;
  FieldPlaces* places;
  std::string prefix;
};

// Takes over all values of `field` (one, or a repetition) of `from`, whose places are `at`, as
// field `path` of `to`. "convolution_param.num_output" makes the message on the way;
// "param.lr_mult", where `param` is repeated, puts the i-th value into its i-th element. Numbers
// and enum values (by name) are converted; a repeated target is appended to, another one replaced.
// Returns false when the target cannot hold a value, such as a negative one.
bool MoveField(const google::protobuf::Message& from, const FieldPlaces& at,
               const google::protobuf::FieldDescriptor& field, const std::string& path,
               const Rewritten& to);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_MOVE_FIELD_H_
