// What the schema's comments say of its messages and fields. The table is made by
// tools/bazel/field_notes.py when Doppio is built, because descriptors do not keep comments.
#ifndef DOPPIO_TOOLS_CLI_FIELD_NOTES_H_
#define DOPPIO_TOOLS_CLI_FIELD_NOTES_H_

#include <map>
#include <string>

namespace doppio {

// By "Message" and "Message.field"; "" where there is no comment.
const std::map<std::string, std::string>& FieldNotes();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FIELD_NOTES_H_
