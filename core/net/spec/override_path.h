// The paths of --set and --unset: "net.layer[conv1].convolution_param.num_output".
#ifndef DOPPIO_CORE_NET_SPEC_OVERRIDE_PATH_H_
#define DOPPIO_CORE_NET_SPEC_OVERRIDE_PATH_H_

#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// One step of a path: a field and, for a repeated one, what stands in its brackets: an element's
// name or index, "*", or conditions, "type=Data,phase=TRAIN" or "mnist,phase=TRAIN", of which a
// name may be written without "name=".
struct PathStep {
  const google::protobuf::FieldDescriptor* field = nullptr;
  bool selects = false;
  std::string selector;
};

// Splits `path` and looks its names up, from `root` on. Throws UserError at `at`.
std::vector<PathStep> ParsePath(const std::string& path, const google::protobuf::Descriptor& root,
                                const SourceLoc& at);

// Calls `visit` for every place in `message` that `steps` lead to: with the message that has the
// last step's field, the index of the element chosen there (-1: the field as a whole), and the path
// written out ("layer[3].name").
//
// Messages on the way are created when they are missing, and so are elements of `param`. But where
// "*" or conditions without a type and a name chose the layer, layers that do not have the message
// are passed over, and `param` is only given to layers sure to have that parameter. Says what was
// missing in `missing` when an element is not there: "no layer is 'conv11'; did you mean 'conv1'?".
using Visit = std::function<void(google::protobuf::Message*, int index, const std::string& path)>;
void WalkPath(const std::vector<PathStep>& steps, google::protobuf::Message* message,
              const Visit& visit, std::string* missing);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_OVERRIDE_PATH_H_
