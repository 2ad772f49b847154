// The command-line flags as the parser and the help pages see them, and checks of their values.
// ParseCommandLine (tools/cli/command_line.h) sets the values.
#ifndef DOPPIO_TOOLS_CLI_FLAGS_H_
#define DOPPIO_TOOLS_CLI_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/cli/options.h"

namespace doppio {

// The values of all flags. Only the parser and CommandLine use it; other code takes the structs of
// which it consists.
struct Flags : NetFileOptions,
               NetInputOptions,
               DeviceOptions,
               ComputeOptions,
               ProcessOptions,
               OutputOptions,
               MeasureOptions,
               StartOptions,
               SignalOptions,
               TraceOptions,
               RecordOptions,
               JoinOptions,
               ReplicaOptions,
               BatchJobOptions,
               SiteOptions,
               LaunchOptions,
               PredictionOptions,
               SweepOptions,
               DataSetOptions,
               ImageFileOptions,
               PreparationOptions,
               ResultOptions,
               DetectionOptions,
               ExportOptions,
               PageOptions,
               EvaluationOptions,
               InitOptions,
               SingleOptions {};

// A flag of the table.
struct FlagEntry {
  const char* name;   // "gpu"
  const char* help;   // begins with the placeholder of the value: "<LIST> GPUs to use"
  const char* needs;  // the kind of value, for messages: "an integer"
  bool is_switch;     // true for a Boolean flag
  // Sets the flag to the value that `text` spells; adds the value to the flag's list if the flag
  // may be repeated. Returns false if `text` spells no value of the flag's type. Numbers and
  // Boolean values have the spellings of gflags.
  bool (*set)(const std::string& text, Flags* flags);
  // Returns the flag's value as text; numbers have all their digits.
  std::string (*text)(const Flags& flags);
};

// Returns the entry of a flag, or null if the table has no flag of this name.
const FlagEntry* FindFlag(const std::string& name);

// Throws UsageError, such as "--comm needs auto, threads or mpi; got 'x'", unless `value` is one of
// `known`.
void CheckValue(const char* flag, const std::string& value, const std::vector<std::string>& known);

// Returns `value` if it is in [least, most]. Otherwise throws UsageError, such as "--eta needs 2 to
// 100; got 1".
int64_t InRange(const char* flag, int64_t value, int64_t least, int64_t most);

// Returns `value` if it is at least `least`. Otherwise throws UsageError, such as "--top needs 1 or
// more; got 0".
int64_t AtLeast(const char* flag, int64_t value, int64_t least);

// Returns `value` if it is 0 or more. Otherwise, and for NaN, throws UsageError.
double NotNegative(const char* flag, double value);

// Reads all of `text` as a finite number. Returns false if it is none.
bool ReadNumber(const std::string& text, double* value);

// Throws UsageError if more than one of --json, --jsonl and --csv write to standard output.
void CheckResultForms(const OutputOptions& options);

// Splits `text` at commas and drops empty parts: "a,b" -> {"a", "b"}.
std::vector<std::string> SplitList(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FLAGS_H_
