// Compares two outcomes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/random/outcome.h"

namespace doppio {
namespace {

// The smallest scale of scores and outputs, below which they are only rounding.
constexpr double kLeastScale = 1e-6;

std::string KindOf(const std::string& name) { return name.substr(0, name.find(' ')); }

// Returns the name that all numbers with the same scale share.
std::string ScaleOf(const std::string& name) {
  const std::string kind = KindOf(name);
  if (kind == "loss" || kind == "move") return kind;
  if (kind == "history") return kind + name.substr(name.rfind(' '));
  return name;
}

double LargestMagnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

using Scales = std::map<std::string, double>;

Scales ScalesOf(const Outcome& a, const Outcome& b) {
  Scales scales;
  for (const Outcome* outcome : {&a, &b}) {
    for (const auto& [name, values] : outcome->numbers) {
      double& scale = scales[ScaleOf(name)];
      scale = std::max(scale, LargestMagnitude(values));
    }
  }
  const double move = scales.count("move") > 0 ? scales["move"] : 0;
  for (auto& [name, scale] : scales) {
    const std::string kind = KindOf(name);
    if (kind == "weight") {
      scale = std::max(scale, move);
    } else if (kind == "test" || kind == "mean" || kind == "output" || kind == "loss") {
      scale = std::max(scale, kLeastScale);
    }
  }
  return scales;
}

double Relative(double a, double b, double scale) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  return std::abs(a - b) / std::max(scale, std::numeric_limits<double>::min());
}

std::string Text(double a, double b, size_t element, size_t count) {
  std::ostringstream text;
  text.precision(9);
  text << a << " instead of " << b;
  if (count > 1) text << " at element " << element << " of " << count;
  return text.str();
}

Difference Compare(const std::string& name, const std::vector<double>& a,
                   const std::vector<double>& b, double scale) {
  Difference difference;
  difference.name = name;
  if (a.size() != b.size()) {
    difference.relative = std::numeric_limits<double>::infinity();
    difference.text = std::to_string(a.size()) + " numbers instead of " + std::to_string(b.size());
    return difference;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const double relative = Relative(a[i], b[i], scale);
    if (relative <= difference.relative) continue;
    difference.relative = relative;
    difference.text = Text(a[i], b[i], i, a.size());
  }
  return difference;
}

}  // namespace

std::string Difference::ToString() const {
  if (name.empty()) return "no difference";
  std::ostringstream out;
  out.precision(3);
  out << name << ": " << (text.empty() ? "no difference" : text) << ", relative " << relative;
  return out.str();
}

std::map<std::string, Difference> DifferencesOf(const Outcome& a, const Outcome& b) {
  static const std::vector<double> none;
  const Scales scales = ScalesOf(a, b);
  std::map<std::string, Difference> differences;
  for (const Outcome* outcome : {&a, &b}) {
    for (const auto& [name, values] : outcome->numbers) {
      if (differences.count(name) > 0) continue;
      const auto of_a = a.numbers.find(name), of_b = b.numbers.find(name);
      differences[name] =
          Compare(name, of_a == a.numbers.end() ? none : of_a->second,
                  of_b == b.numbers.end() ? none : of_b->second, scales.at(ScaleOf(name)));
    }
  }
  return differences;
}

Difference LargestDifference(const Outcome& a, const Outcome& b) {
  Difference largest;
  for (const auto& [name, difference] : DifferencesOf(a, b)) {
    if (largest.name.empty() || difference.relative > largest.relative) largest = difference;
  }
  return largest;
}

bool Diverged(const Outcome& outcome) {
  for (const auto& [name, values] : outcome.numbers) {
    const std::string kind = KindOf(name);
    if (kind != "weight" && kind != "loss") continue;
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
      return true;
  }
  return false;
}

}  // namespace doppio
