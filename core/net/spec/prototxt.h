// Parses text files into messages. Records the place of every field and finds all mistakes in one
// pass.
//
// protobuf's parser stops at the first unknown name and reports the position after that name.
// Therefore, a pass over the tokens (text_check.h) runs first and reports all mistakes with their
// line and column.
#ifndef DOPPIO_CORE_NET_SPEC_PROTOTXT_H_
#define DOPPIO_CORE_NET_SPEC_PROTOTXT_H_

#include <google/protobuf/message.h>

#include <string>

#include "core/net/contract/field_places.h"

namespace doppio {

// Parses `text` into `message` and returns the places of its fields. `file` is the name in
// messages. Throws all mistakes as an ErrorList or a UserError.
FieldPlaces ParseText(const std::string& text, const std::string& file,
                      google::protobuf::Message* message);
// Reads and parses a file. If the file cannot be read, throws FileError with the nearest existing
// name.
FieldPlaces ParseTextFile(const std::string& path, google::protobuf::Message* message);
// Returns `message` as text that ParseText reads, each line indented by `indent` levels. Text in
// UTF-8 stays as it is.
std::string ToPrototxt(const google::protobuf::Message& message, int indent = 0);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_PROTOTXT_H_
