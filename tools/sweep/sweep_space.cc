#include "tools/sweep/sweep_space.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/text/whole_number.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {
namespace {

constexpr int64_t kMostPoints = 1'000'000;
// Significant digits of a value from a range: enough to distinguish learning rates, and short
// enough to read.
constexpr int kValueDigits = 5;

// Splits at commas outside of brackets and quotes.
std::vector<std::string> SplitValues(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    }
    if (c == ',' && depth == 0 && quote == 0) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

bool ReadCount(const std::string& text, int64_t* value) {
  constexpr int64_t kMost = 999'999'999;
  *value = ParseWholeNumber(text).value_or(0);
  return *value > 0 && *value <= kMost;
}

// Returns true for two numbers with dots between them.
bool IsRange(const std::string& text) {
  const size_t dots = text.find("..");
  double number;
  return dots != std::string::npos && ReadNumber(text.substr(0, dots), &number) &&
         ReadNumber(text.substr(dots + 2), &number);
}

// Parses "1e-4..1e-1:4"; the part from ':' on is optional.
void ParseRange(const std::string& text, const SourceLoc& at, SweepParam* param) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos)
    throw UserError(at, "expected FIRST..LAST, such as 1e-4..1e-1, got '", text, "'");
  const size_t colon = text.find(':', dots);
  const bool has_last_part = colon != std::string::npos;
  const std::string last =
      text.substr(dots + 2, has_last_part ? colon - dots - 2 : std::string::npos);
  if (!ReadNumber(text.substr(0, dots), &param->first) || !ReadNumber(last, &param->last)) {
    throw UserError(at, "expected two numbers around '..', got '", text, "'");
  }
  if (param->first >= param->last)
    throw UserError(at, "the first number of a range must be less than the last");
  const bool whole = param->kind == SweepParam::kInt;
  if (param->kind == SweepParam::kLog && param->first <= 0) {
    throw UserError(at, "a range in the logarithm must begin above 0");
  }
  if (whole &&
      (param->first != std::floor(param->first) || param->last != std::floor(param->last) ||
       std::abs(param->first) > 1e15 || std::abs(param->last) > 1e15)) {
    throw UserError(at, "int needs whole numbers; got '", text, "'");
  }
  if (has_last_part && !ReadCount(text.substr(colon + 1), whole ? &param->step : &param->points)) {
    throw UserError(at, "behind the range comes ",
                    whole ? "the step" : "the number of points of a grid", ", got '",
                    text.substr(colon + 1), "'");
  }
  if (!whole && has_last_part && param->points < 2)
    throw UserError(at, "a range has at least 2 points");
}

// Returns the value at fraction `part` of the range, 0 to 1.
std::string ValueWithin(const SweepParam& param, double part) {
  if (param.kind == SweepParam::kLog) {
    return Significant(
        std::exp(std::log(param.first) + part * (std::log(param.last) - std::log(param.first))),
        kValueDigits);
  }
  return Significant(param.first + part * (param.last - param.first), kValueDigits);
}

std::string Draw(const SweepParam& param, const Random& random, uint64_t trial, uint64_t element) {
  const bool range = param.kind == SweepParam::kLog || param.kind == SweepParam::kLinear;
  const double part = random.Uniform(trial, element);
  if (range) return ValueWithin(param, part);
  return param.ValueAt(
      std::min(param.count() - 1, static_cast<int64_t>(part * static_cast<double>(param.count()))));
}

}  // namespace

int64_t SweepParam::count() const {
  switch (kind) {
    case kList:
      return static_cast<int64_t>(values.size());
    case kInt:
      return static_cast<int64_t>(last - first) / step + 1;
    case kLinear:
    case kLog:
      return points;
  }
  return 0;
}

std::string SweepParam::ValueAt(int64_t index) const {
  if (kind == kList) return values[index];
  if (kind == kInt) return std::to_string(static_cast<int64_t>(first) + index * step);
  return ValueWithin(*this, static_cast<double>(index) / static_cast<double>(points - 1));
}

SweepParam ParseSweepParam(const std::string& text) {
  const SourceLoc at{"--param " + text};
  auto [name, spec] = SplitSet(text);
  if (name.empty() || name == text) {
    throw UserError(
        at,
        "expected NAME=VALUES, as in --param=base_lr=log:1e-4..1e-1 or --param=momentum=0.9,0.95");
  }
  SweepParam param;
  param.name = name;
  const std::pair<const char*, SweepParam::Kind> kinds[] = {{"log:", SweepParam::kLog},
                                                            {"lin:", SweepParam::kLinear},
                                                            {"int:", SweepParam::kInt},
                                                            {"choice:", SweepParam::kList}};
  bool range = false;
  for (const auto& [word, kind] : kinds) {
    if (spec.compare(0, std::string(word).size(), word) != 0) continue;
    param.kind = kind;
    range = kind != SweepParam::kList;
    spec = spec.substr(std::string(word).size());
    break;
  }
  if (range) {
    ParseRange(spec, at, &param);
    return param;
  }
  param.values = SplitValues(spec);
  for (const std::string& value : param.values) {
    if (value.empty()) throw UserError(at, "a value is empty");
    if (!IsRange(value)) continue;
    throw UserError(at, "a range begins with log:, lin: or int:, as in ", name, "=log:", value);
  }
  return param;
}

std::vector<SweepPoint> GridPoints(const std::vector<SweepParam>& params) {
  int64_t all = 1;
  for (const SweepParam& param : params) {
    if (param.count() == 0) {
      throw UsageError("--param ", param.name,
                       ": a grid needs a number of points, as in log:1e-4..1e-1:4; or give "
                       "--trials for random ones");
    }
    if (param.count() > kMostPoints / all)
      throw UsageError("this grid has more than a million points; give --trials for random ones");
    all *= param.count();
  }
  std::vector<SweepPoint> points;
  for (int64_t i = 0; i < all; ++i) {
    SweepPoint point(params.size());
    int64_t rest = i;
    for (size_t p = params.size(); p-- > 0; rest /= params[p].count())
      point[p] = params[p].ValueAt(rest % params[p].count());
    points.push_back(point);
  }
  return points;
}

std::vector<SweepPoint> RandomPoints(const std::vector<SweepParam>& params, int64_t trials,
                                     uint64_t seed) {
  constexpr uint64_t kTries = 100;
  const Random random(seed, Stream("sweep"));
  std::vector<SweepPoint> points;
  std::set<SweepPoint> known;
  for (int64_t trial = 0; trial < trials; ++trial) {
    SweepPoint point;
    for (uint64_t attempt = 0; attempt < kTries; ++attempt) {
      point.clear();
      for (const SweepParam& param : params) {
        point.push_back(Draw(param, random, static_cast<uint64_t>(trial),
                             attempt * params.size() + point.size()));
      }
      if (known.insert(point).second) break;
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace doppio
