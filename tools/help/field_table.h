// Describes the fields of nets and solvers for help pages and the reference: which fields a layer
// type reads, and the value type, default and meaning of each field. The sources are the schema,
// its comments and the registry of layers.
#ifndef DOPPIO_TOOLS_HELP_FIELD_TABLE_H_
#define DOPPIO_TOOLS_HELP_FIELD_TABLE_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace doppio {

struct FieldRow {
  std::string name;
  std::string type;  // "integer", "text", "MAX, AVE, STOCHASTIC", or the name of a message; a
                     // repeated field has the prefix "several: "
  std::string default_value;  // "" if the field has no default
  std::string meaning;        // includes a note if the field has no effect
  // The type of a nested message; otherwise null.
  const google::protobuf::Descriptor* message = nullptr;
};
// Returns a row for each field of `message`, in the order of the schema.
std::vector<FieldRow> FieldRows(const google::protobuf::Descriptor& message);
// Returns the row of one field.
FieldRow RowOf(const google::protobuf::FieldDescriptor& field);

// Returns true for messages that the documentation leaves out because users do not write them: the
// values of weights and the layers of old files.
bool IsUndocumented(const google::protobuf::Descriptor& message);

// Returns the messages that nets and solvers consist of. The first two are the solver's and the
// net's. Messages that occur only in fields without effect are left out.
std::vector<const google::protobuf::Descriptor*> MessagesOfFiles();

// Returns the numbers of bottoms and tops of a registered layer type, such as "1 or 2 → 1"; "any"
// for an unregistered type, such as a class written in Python.
std::string ArityOf(const std::string& layer_type);

// Returns the fields of LayerParameter that apply only to some layer types and that `layer_type`
// reads, such as convolution_param for Convolution.
std::vector<const google::protobuf::FieldDescriptor*> ParametersOf(const std::string& layer_type);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_FIELD_TABLE_H_
