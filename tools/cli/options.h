// The options of commands, as structs of options that belong together. Each field is a flag of
// tools/cli/flag_table.inc, whose help text documents the field and its unit. A new object holds
// the defaults.
//
// The command line fills these structs (tools/cli/command_line.h), and other callers set the fields
// themselves. Functions below the commands take one of the structs, or the options of a lower
// folder that were made from it, such as PlanOptions. They check the values and throw UsageError.
#ifndef DOPPIO_TOOLS_CLI_OPTIONS_H_
#define DOPPIO_TOOLS_CLI_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file_limits.h"
#include "parallel/meeting/limits.h"
#include "tools/cli/result_file.h"

namespace doppio {

// clang-format off
#define OPTIONS(name) struct name {
#define FLAG(type, name, otherwise, help) type name = otherwise;
#define END_OPTIONS };
// clang-format on
#include "tools/cli/flag_table.inc"
#undef END_OPTIONS
#undef FLAG
#undef OPTIONS

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_OPTIONS_H_
