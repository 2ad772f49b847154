// What a field wants and whether one token is that.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_VALUE_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_VALUE_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "core/net/spec/text_tokens.h"

namespace doppio {

// "stride wants an integer".
std::string Wants(const google::protobuf::FieldDescriptor& field);

// Why `token` (behind a '-' if `negative`) is no value of the scalar `field`: "stride wants an
// integer, got 1.5". Empty when protobuf accepts it.
std::string WrongValue(const google::protobuf::FieldDescriptor& field, bool negative,
                       const Token& token);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_VALUE_H_
