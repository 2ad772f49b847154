#include "solvers/update/field_check.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <sstream>

#include "core/base/text/nearest.h"

namespace doppio {

std::string JoinList(const std::vector<std::string>& names, const std::string& last) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + names[i];
  return text;
}

std::string NumberText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

float FieldCheck::Number(const char* field) const {
  return SolverParameter::GetReflection()->GetFloat(
      param_, SolverParameter::descriptor()->FindFieldByName(field));
}

void FieldCheck::Positive(const char* field) {
  const float value = Number(field);
  if (value > 0) return;
  Add(field, std::string(field) + " is " + NumberText(value) + "; it must be above 0");
}

void FieldCheck::InUnitInterval(const char* field) {
  const float value = Number(field);
  if (value >= 0 && value < 1) return;
  Add(field,
      std::string(field) + " is " + NumberText(value) + "; it must be at least 0 and below 1");
}

void FieldCheck::OneOf(const char* field, const std::vector<std::string>& known) {
  const std::string name = SolverParameter::GetReflection()->GetString(
      param_, SolverParameter::descriptor()->FindFieldByName(field));
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  Add(field, std::string("unknown ") + field + " '" + name + "'" + DidYouMean(name, known) +
                 "; known: " + JoinList(known));
}

}  // namespace doppio
