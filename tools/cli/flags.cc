#include "tools/cli/flags.h"

#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/text/split_at.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

bool ReadValue(const std::string& text, std::string* value) {
  *value = text;
  return true;
}

bool ReadValue(const std::string& text, std::vector<std::string>* values) {
  values->push_back(text);
  return true;
}

bool ReadValue(const std::string& text, bool* value) {
  const auto is = [&](const char* word) { return strcasecmp(text.c_str(), word) == 0; };
  const char* const on[] = {"1", "t", "true", "y", "yes"};
  const char* const off[] = {"0", "f", "false", "n", "no"};
  *value = std::any_of(std::begin(on), std::end(on), is);
  return *value || std::any_of(std::begin(off), std::end(off), is);
}

// A bare --csv reads as "true".
bool ReadValue(const std::string& text, ResultFile* value) {
  bool on = true;
  const bool file = !ReadValue(text, &on);
  *value = {on || file, file ? text : ""};
  return true;
}

bool ReadValue(const std::string& text, int64_t* value) {
  const bool hexadecimal = text.compare(0, 2, "0x") == 0 || text.compare(0, 2, "0X") == 0;
  char* end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, hexadecimal ? 16 : 10);
  return errno == 0 && !text.empty() && *end == '\0';
}

bool ReadValue(const std::string& text, int* value) {
  int64_t wide = 0;
  if (!ReadValue(text, &wide) || wide < INT_MIN || wide > INT_MAX) return false;
  *value = static_cast<int>(wide);
  return true;
}

bool ReadValue(const std::string& text, double* value) {
  char* end = nullptr;
  errno = 0;
  *value = std::strtod(text.c_str(), &end);
  return errno == 0 && !text.empty() && *end == '\0';
}

std::string ValueText(const std::string& value) { return value; }
std::string ValueText(bool value) { return value ? "true" : "false"; }
std::string ValueText(int value) { return std::to_string(value); }
std::string ValueText(int64_t value) { return std::to_string(value); }

// Returns the shortest text that reads as the same number.
std::string ValueText(double value) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string ValueText(const ResultFile& value) { return value.path; }
std::string ValueText(const std::vector<std::string>& values) { return Join(values, ","); }

template <class T>
constexpr const char* KindOfValue() {
  if (std::is_same_v<T, bool>) return "true or false";
  if (std::is_same_v<T, double>) return "a number";
  return std::is_integral_v<T> ? "an integer" : "a text";
}

constexpr FlagEntry kFlags[] = {
#define OPTIONS(name)
#define END_OPTIONS
#define FLAG(type, name, otherwise, help)                                               \
  {#name,                                                                               \
   help,                                                                                \
   KindOfValue<type>(),                                                                 \
   std::is_same_v<type, bool> || std::is_same_v<type, ResultFile>,                      \
   [](const std::string& text, Flags* flags) { return ReadValue(text, &flags->name); }, \
   [](const Flags& flags) { return ValueText(flags.name); }},
#include "tools/cli/flag_table.inc"
#undef FLAG
#undef END_OPTIONS
#undef OPTIONS
};

}  // namespace

const FlagEntry* FindFlag(const std::string& name) {
  const auto found = std::find_if(std::begin(kFlags), std::end(kFlags),
                                  [&](const FlagEntry& flag) { return name == flag.name; });
  return found == std::end(kFlags) ? nullptr : found;
}

void CheckValue(const char* flag, const std::string& value, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& name : known) {
    if (value == name) return;
    list += (list.empty() ? "" : name == known.back() ? " or " : ", ") + name;
  }
  throw UsageError(std::string("--") + flag + " needs " + list + "; got '" + value + "'");
}

int64_t AtLeast(const char* flag, int64_t value, int64_t least) {
  if (value >= least) return value;
  throw UsageError(std::string("--") + flag + " needs " + std::to_string(least) + " or more; got " +
                   std::to_string(value));
}

double NotNegative(const char* flag, double value) {
  if (value >= 0) return value;
  throw UsageError(std::string("--") + flag + " needs 0 or more; got " + Significant(value));
}

bool ReadNumber(const std::string& text, double* value) {
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(*value);
}

int64_t InRange(const char* flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return value;
  throw UsageError(std::string("--") + flag + " needs " + std::to_string(least) + " to " +
                   std::to_string(most) + "; got " + std::to_string(value));
}

void CheckResultForms(const OutputOptions& options) {
  if (options.json + options.jsonl + options.csv.to_standard_output() < 2) return;
  throw UsageError(
      "give one of --json, --jsonl and --csv, since each writes to standard output; --csv=FILE "
      "writes to a file");
}

std::vector<std::string> SplitList(const std::string& text) { return SplitAt(text, ','); }

}  // namespace doppio
