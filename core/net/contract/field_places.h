// The places of a message's fields in the file that it was read from, so that mistakes can be
// reported at them. core/net/spec/prototxt.h parses files.
#ifndef DOPPIO_CORE_NET_CONTRACT_FIELD_PLACES_H_
#define DOPPIO_CORE_NET_CONTRACT_FIELD_PLACES_H_

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <map>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace doppio {

// The places of the fields of one parsed message. Cheap to copy: copies share the data of the whole
// file.
class FieldPlaces {
 public:
  FieldPlaces() = default;
  explicit FieldPlaces(SourceLoc whole) : whole_(std::move(whole)) {}

  // Returns the place of field `path` ("a.b.c"). `index` selects an element of the last field;
  // earlier repeated fields contain their index: "param[1].lr_mult". If the field is not in the
  // file, returns the place of the nearest enclosing message that is, else that of the whole
  // message.
  SourceLoc At(const std::string& path = "", int index = 0) const;
  // Returns the places of sub-message `index` of field `field`. `message` must have the type of
  // this object's message.
  FieldPlaces Nested(const google::protobuf::Message& message, const std::string& field,
                     int index = 0) const;
  // Sets the place of field `path`, or of an element "path[2]", to `at`, the place of its source.
  void Set(const std::string& path, const SourceLoc& at);
  // Like Set, but also for everything in the field. Used when the command line replaces a value.
  void Override(const std::string& path, const SourceLoc& at);

 private:
  friend FieldPlaces ParseText(const std::string& text, const std::string& file,
                               google::protobuf::Message* message);
  using Tree = google::protobuf::TextFormat::ParseInfoTree;
  // The data of one file, shared by all its FieldPlaces.
  struct File {
    std::string name;
    Tree tree;
    // The places passed to Set and Override, by path from the file's root.
    std::map<std::string, SourceLoc> known;
  };
  SourceLoc whole_;
  std::shared_ptr<File> file_;
  const Tree* tree_ = nullptr;  // null if the message is not in the file
  const google::protobuf::Descriptor* type_ = nullptr;
  std::string prefix_;  // path from the file's root to this message, "layer[3]."
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_FIELD_PLACES_H_
