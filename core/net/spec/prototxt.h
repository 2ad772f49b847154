// Text files to messages, with the place of every field, and every mistake found in one pass.
//
// protobuf's parser stops at the first unknown name and reports the position after it, so a pass
// over the tokens (text_check.h) runs first and reports all mistakes at their own line and column.
#ifndef DOPPIO_CORE_NET_SPEC_PROTOTXT_H_
#define DOPPIO_CORE_NET_SPEC_PROTOTXT_H_

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <map>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace doppio {

// Where the fields of one parsed message stand. A cheap value: shares what is known of the whole
// file.
class FieldPlaces {
 public:
  FieldPlaces() = default;
  explicit FieldPlaces(SourceLoc whole) : whole_(std::move(whole)) {}

  // The place of field `path` ("a.b.c"; `index` counts in the repetition of the last one; one
  // before it may carry its own: "param[1].lr_mult"), falling back to the nearest enclosing message
  // that was written, then to the whole message.
  SourceLoc At(const std::string& path = "", int index = 0) const;
  // The places of the `index`-th sub-message `field` of `message` (a message of this place's type).
  FieldPlaces Nested(const google::protobuf::Message& message, const std::string& field,
                     int index = 0) const;
  // From now on field `path`, or the element "path[2]" of a repeated one, is said to stand at `at`:
  // it was made of what stands there.
  void Set(const std::string& path, const SourceLoc& at);
  // The same for everything in it as well: the command line replaced what the file says.
  void Override(const std::string& path, const SourceLoc& at);

 private:
  friend FieldPlaces ParseText(const std::string& text, const std::string& file,
                               google::protobuf::Message* message);
  using Tree = google::protobuf::TextFormat::ParseInfoTree;
  // One per file, kept alive by every FieldPlaces of it.
  struct File {
    std::string name;
    Tree tree;
    // What Set and Override said, by path from the file's root.
    std::map<std::string, SourceLoc> known;
  };
  SourceLoc whole_;
  std::shared_ptr<File> file_;
  const Tree* tree_ = nullptr;  // null: this message was not written in the file
  const google::protobuf::Descriptor* type_ = nullptr;
  std::string prefix_;  // the path to this message from the file's root, "layer[3]."
};

// Parses `text`; `file` names it in messages. Throws ErrorList / UserError with all mistakes.
FieldPlaces ParseText(const std::string& text, const std::string& file,
                      google::protobuf::Message* message);
// Reads and parses a file. Throws FileError, with the nearest name, if it cannot be read.
FieldPlaces ParseTextFile(const std::string& path, google::protobuf::Message* message);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_PROTOTXT_H_
