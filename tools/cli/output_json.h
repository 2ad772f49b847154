// JSON of a net's outputs.
#ifndef DOPPIO_TOOLS_CLI_OUTPUT_JSON_H_
#define DOPPIO_TOOLS_CLI_OUTPUT_JSON_H_

#include "solvers/scores/outputs.h"
#include "tools/cli/json_text.h"

namespace doppio {

// Returns {"name", "value"}, for the value of a class with its number, "class", and, if it is
// known, its name, "class_name". The value is null if it is absent or not finite.
inline nlohmann::json ToJson(const OutputValue& output) {
  nlohmann::json json = {{"name", output.blob}, {"value", NumberOrNull(output.value)}};
  if (output.of_class >= 0) json["class"] = output.of_class;
  if (!output.class_name.empty()) json["class_name"] = output.class_name;
  return json;
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_OUTPUT_JSON_H_
