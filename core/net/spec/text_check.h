// The pass over a text file that runs before protobuf's parser: it knows the message type, so it
// goes on after a mistake and names each one at the token that is wrong. It accepts exactly what
// the parser accepts.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_CHECK_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_CHECK_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "core/base/error.h"

namespace doppio {

// Adds every mistake of `text`, which should be a message of type `root`, to `mistakes`. Throws
// them once there are 1000: it does not look further.
void CheckText(const std::string& text, const std::string& file,
               const google::protobuf::Descriptor& root, ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_CHECK_H_
