// The fields of nets and solvers in words: which a type of layer looks at, and of each what kind of
// value it takes, its default and its meaning. From the schema, its comments and the registry of
// layers.
#ifndef DOPPIO_TOOLS_CLI_FIELD_TABLE_H_
#define DOPPIO_TOOLS_CLI_FIELD_TABLE_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace doppio {

struct FieldRow {
  std::string name;
  std::string type;  // "integer", "text", "MAX, AVE, STOCHASTIC", or the name of a message;
                     // "several: " in front
  std::string default_value;                              // "" where there is none
  std::string meaning;                                    // and whether it has an effect
  const google::protobuf::Descriptor* message = nullptr;  // of a nested one
};
std::vector<FieldRow> FieldRows(const google::protobuf::Descriptor& message);
FieldRow RowOf(const google::protobuf::FieldDescriptor& field);

// Values of weights and layers of old files: no part of what users write.
bool IsUntold(const google::protobuf::Descriptor& message);

// The messages that nets and solvers are written in, the solver's and the net's first. Those of
// fields without effect are left out.
std::vector<const google::protobuf::Descriptor*> MessagesOfFiles();

// "1 or 2 → 1" of a registered type of layer; "any" for a class written in Python.
std::string ArityOf(const std::string& layer_type);

// The fields of LayerParameter that only layers of some types look at, such as convolution_param,
// for this type.
std::vector<const google::protobuf::FieldDescriptor*> ParametersOf(const std::string& layer_type);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FIELD_TABLE_H_
