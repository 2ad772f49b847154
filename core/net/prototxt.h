// Text files to messages, with the place of every field, and every mistake found in one pass.
//
// protobuf's parser stops at the first unknown name and reports the position after it, so a pass over the tokens,
// guided by the message's descriptor, runs first and reports all unknown fields, enum values and wrong value
// kinds at their own line and column with the nearest known name (and the fork a foreign name comes from).
#ifndef DOPPIO_CORE_NET_PROTOTXT_H_
#define DOPPIO_CORE_NET_PROTOTXT_H_

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <string>

#include "core/base/error.h"

namespace doppio {

// Where the fields of one parsed message stand. A cheap value: shares the tree of the whole file.
class FieldPlaces {
 public:
  FieldPlaces() = default;
  explicit FieldPlaces(SourceLoc whole) : whole_(std::move(whole)) {}

  // The place of field `path` ("a.b.c"; `index` counts in the repetition of the last one, -1 for singular),
  // falling back to the nearest enclosing message that was written, then to the whole message.
  SourceLoc At(const std::string& path = "", int index = 0) const;
  // The places of the `index`-th sub-message `field` of `message` (a message of this place's type).
  FieldPlaces Nested(const google::protobuf::Message& message, const std::string& field,
                     int index = 0) const;

 private:
  friend FieldPlaces ParseText(const std::string& text, const std::string& file,
                               google::protobuf::Message* message);
  using Tree = google::protobuf::TextFormat::ParseInfoTree;
  SourceLoc whole_;
  std::shared_ptr<const Tree> root_;  // keeps `tree_` alive
  const Tree* tree_ = nullptr;
  const google::protobuf::Descriptor* type_ = nullptr;
};

// Parses `text`; `file` names it in messages. Throws ErrorList / UserError with all mistakes.
FieldPlaces ParseText(const std::string& text, const std::string& file,
                      google::protobuf::Message* message);
// Reads and parses a file; FileError when it cannot be read.
FieldPlaces ParseTextFile(const std::string& path, google::protobuf::Message* message);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PROTOTXT_H_
