// Checks whether a token is a valid value of a field.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_VALUE_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_VALUE_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "core/net/spec/text_tokens.h"

namespace doppio {

// Returns what the field requires: "stride must be an integer".
std::string Needs(const google::protobuf::FieldDescriptor& field);

// Returns why `token` (after a '-' if `negative`) is not a value of the scalar field `field`:
// "stride must be an integer, got 1.5". Returns "" if protobuf accepts the token.
std::string WrongValue(const google::protobuf::FieldDescriptor& field, bool negative,
                       const Token& token);

// Returns advice if `field`, which has a value of the wrong kind, is `param` of a layer, which is a
// string in layers { } and a message in layer { }; else "".
std::string ParamOfOtherFormat(const google::protobuf::FieldDescriptor& field);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_VALUE_H_
