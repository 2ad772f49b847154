// Checks a text file before protobuf's parser reads it. The check knows the message type, so it can
// continue after a mistake and report each mistake at the wrong token. It accepts exactly what the
// parser accepts.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_CHECK_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_CHECK_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "core/base/error.h"

namespace doppio {

// Checks `text` as a message of type `root`, and adds every mistake to `mistakes`. Stops and throws
// them after 1000 mistakes.
void CheckText(const std::string& text, const std::string& file,
               const google::protobuf::Descriptor& root, ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_CHECK_H_
