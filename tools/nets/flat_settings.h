// Flattens solvers and nets into lists of settings, so that they can be compared.
#ifndef DOPPIO_TOOLS_NETS_FLAT_SETTINGS_H_
#define DOPPIO_TOOLS_NETS_FLAT_SETTINGS_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>

namespace doppio {

// Maps the path of a field, as --set takes it, to its value:
// {"net.layer[conv1].convolution_param.pad", "[2]"}.
using FlatSettings = std::map<std::string, std::string>;

// Adds all fields that are set in `message` to `settings`. `prefix` is prepended to the paths:
// "net." or "".
void AddFlat(const google::protobuf::Message& message, const std::string& prefix,
             FlatSettings* settings);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_FLAT_SETTINGS_H_
