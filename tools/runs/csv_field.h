// Formats fields of CSV files.
#ifndef DOPPIO_TOOLS_RUNS_CSV_FIELD_H_
#define DOPPIO_TOOLS_RUNS_CSV_FIELD_H_

#include <string>

namespace doppio {

// Returns `text` as a field of a CSV file (RFC 4180), in quotes if necessary.
inline std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_CSV_FIELD_H_
