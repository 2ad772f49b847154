// Solvers and nets as lists of settings, to compare them.
#ifndef DOPPIO_TOOLS_TRAIN_FLAT_SETTINGS_H_
#define DOPPIO_TOOLS_TRAIN_FLAT_SETTINGS_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>

namespace doppio {

// Values by the paths of --set: {"net.layer[conv1].convolution_param.pad", "[2]"}.
using FlatSettings = std::map<std::string, std::string>;

// Adds the fields that `message` has set. `prefix` precedes their paths: "net.", or "".
void AddFlat(const google::protobuf::Message& message, const std::string& prefix,
             FlatSettings* settings);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_FLAT_SETTINGS_H_
