// Paths of --set and --unset, such as "net.layer[conv1].convolution_param.num_output".
#ifndef DOPPIO_CORE_NET_SPEC_OVERRIDE_PATH_H_
#define DOPPIO_CORE_NET_SPEC_OVERRIDE_PATH_H_

#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// One step of a path: a field and, if the field is repeated, an optional selector in brackets. A
// selector is an element's name or index, "*", or conditions such as "type=Data,phase=TRAIN" or
// "mnist,phase=TRAIN", in which the "name=" of a name may be omitted.
struct PathStep {
  const google::protobuf::FieldDescriptor* field = nullptr;
  bool selects = false;
  std::string selector;
};

// Splits `path` and looks up its names, starting at message type `root`. Throws UserError at `at`.
std::vector<PathStep> ParsePath(const std::string& path, const google::protobuf::Descriptor& root,
                                const SourceLoc& at);

// Calls `visit` for each place in `message` that `steps` lead to. The arguments are the message
// that contains the last step's field, the index of the selected element (-1 for the whole field),
// and the path with indices ("layer[3].name").
//
// Creates missing messages on the path, and missing elements of `param`. But if "*", or conditions
// with neither a type nor a name, selected the layers, skips layers without the message, and adds
// `param` only to layers that certainly have that parameter; "param[*]" adds all of these. If an
// element does not exist, sets
// `missing` to an explanation: "no layer is 'conv11'; did you mean 'conv1'?".
using Visit = std::function<void(google::protobuf::Message*, int index, const std::string& path)>;
void WalkPath(const std::vector<PathStep>& steps, google::protobuf::Message* message,
              const Visit& visit, std::string* missing);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_OVERRIDE_PATH_H_
