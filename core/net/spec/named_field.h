// Finds the field that an error is about by the names in its text, for code that has no access to
// the places of fields.
#ifndef DOPPIO_CORE_NET_SPEC_NAMED_FIELD_H_
#define DOPPIO_CORE_NET_SPEC_NAMED_FIELD_H_

#include <string>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

// Returns the path of a field that is set in one of the layer's messages ("transform_param") and
// that `text` names: "transform_param.resize_param.height". The first message with such a field
// counts. Returns "" if there is none.
std::string NamedField(const LayerParameter& layer, const std::vector<std::string>& messages,
                       const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_NAMED_FIELD_H_
