// The comments on messages and fields in the schema. tools/bazel/field_notes.py generates this
// table when Doppio is built, because protobuf descriptors do not keep comments.
#ifndef DOPPIO_TOOLS_HELP_FIELD_NOTES_H_
#define DOPPIO_TOOLS_HELP_FIELD_NOTES_H_

#include <map>
#include <string>

namespace doppio {

// Maps "Message" and "Message.field" to its comment; the comment is "" if the schema has none.
const std::map<std::string, std::string>& FieldNotes();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_FIELD_NOTES_H_
