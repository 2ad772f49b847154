#include "tools/verify/weight_differences.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tools/cli/text_table.h"
#include "tools/export/param_names.h"

namespace doppio {
namespace {

// The arrays of a net, by layer and role.
using Arrays = std::map<std::string, std::map<std::string, NamedArray>>;

Arrays ArraysOf(const VerifyForm& form) {
  Arrays arrays;
  if (!form.net) return arrays;
  for (NamedArray& array : NamedArrays(form.net->graph(), form.net->weights())) {
    const size_t dot = array.name.rfind('.');
    NamedArray& to = arrays[array.name.substr(0, dot)][array.name.substr(dot + 1)];
    to = std::move(array);
    if (!to.own.empty()) to.data = to.own.data();
  }
  return arrays;
}

// An order in which the elements of an array may have been written by mistake.
struct Disorder {
  const char* text;
  int first, second;  // axes that are exchanged; `first` is reversed if they are equal
};
constexpr Disorder kDisorders[] = {{"rows and columns are exchanged (transposed)", 0, 1},
                                   {"rows and columns of the kernels are exchanged", 2, 3},
                                   {"the channels of the input are in the reverse order", 1, 1},
                                   {"the outputs are in the reverse order", 0, 0}};

// Returns true if `b` has the elements of `a` in this disorder.
bool IsDisordered(const NamedArray& a, const NamedArray& b, const Disorder& disorder,
                  double tolerance) {
  const Shape& shape = a.shape;
  const auto [text, x, y] = disorder;
  if (shape.rank() <= std::max(x, y) || (x == y && shape[x] < 2)) return false;
  std::vector<int64_t> dims = shape.dims();
  std::swap(dims[x], dims[y]);
  const Shape turned(dims);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(shape.count()));
  std::vector<int64_t> at(dims.size());
  for (int64_t i = 0; i < shape.count(); ++i) {
    int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      at[axis] = rest % turned[axis];
      rest /= turned[axis];
    }
    std::swap(at[x], at[y]);
    if (x == y) at[x] = shape[x] - 1 - at[x];
    int64_t from = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) from = from * shape[axis] + at[axis];
    values.push_back(a.data[from]);
  }
  return DifferenceOf(values.data(), b.data, shape.count()).relative() <= tolerance;
}

// Returns the factor by which all elements of `b` are larger than those of `a`, or 1.
double FactorOf(const NamedArray& a, const NamedArray& b, double tolerance) {
  double products = 0, squares = 0;
  for (int64_t i = 0; i < a.shape.count(); ++i) {
    products += static_cast<double>(a.data[i]) * static_cast<double>(b.data[i]);
    squares += static_cast<double>(a.data[i]) * static_cast<double>(a.data[i]);
  }
  const double factor = squares > 0 ? products / squares : 1;
  std::vector<float> scaled(a.data, a.data + a.shape.count());
  for (float& value : scaled) value *= static_cast<float>(factor);
  const bool fits = DifferenceOf(scaled.data(), b.data, a.shape.count()).relative() <= tolerance;
  return fits && a.shape.count() > 1 ? factor : 1;
}

std::string TextOf(const NamedArray& a, const NamedArray& b, const ValueDifference& values,
                   double tolerance) {
  int64_t many = 0;
  for (int64_t i = 0; i < a.shape.count(); ++i) many += a.data[i] != b.data[i];
  const std::string place = StrCat(Thousands(many), " of ", Thousands(a.shape.count()),
                                   many == 1 ? " values differs" : " values differ", ", most at ",
                                   IndexText(a.shape, values.index), ": ",
                                   Significant(static_cast<double>(a.data[values.index])), " and ",
                                   Significant(static_cast<double>(b.data[values.index])));
  if (values.relative() <= tolerance) return place;
  for (const Disorder& disorder : kDisorders) {
    // The shape may be that of either order.
    if (IsDisordered(a, b, disorder, tolerance) || IsDisordered(b, a, disorder, tolerance))
      return disorder.text;
  }
  const double factor = FactorOf(a, b, tolerance);
  return factor == 1 ? place : "all values are " + Significant(factor) + " times as large";
}

}  // namespace

std::vector<ArrayDifference> WeightDifferences(const Comparison& comparison, double tolerance) {
  Arrays all_a = ArraysOf(comparison.a()), all_b = ArraysOf(comparison.b());
  std::vector<ArrayDifference> found;
  const std::vector<PointPair>& pairs = comparison.pairs();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const FormPoint &a = comparison.a().points[pairs[i].a], &b = comparison.b().points[pairs[i].b];
    const auto &of_a = all_a[a.layer], &of_b = all_b[b.layer];
    if (a.type != b.type || (of_a.empty() && of_b.empty())) continue;
    const auto add = [&](const std::string& role, const ValueDifference& values,
                         const std::string& text) {
      found.push_back({static_cast<int>(i), a.layer, role, values, text});
    };
    const auto lone = [&](const auto& one, const auto& other, const char* text) {
      for (const auto& [role, array] : one) {
        if (other.count(role) > 0) continue;
        const std::vector<float> zeros(static_cast<size_t>(array.shape.count()));
        const ValueDifference values = DifferenceOf(array.data, zeros.data(), array.shape.count());
        if (values.absolute > 0) add(role, values, text);
      }
    };
    lone(of_a, of_b, "only in the first form");
    lone(of_b, of_a, "only in the second form");
    for (const auto& [role, array] : of_a) {
      const auto other = of_b.find(role);
      if (other == of_b.end()) continue;
      if (array.shape.count() != other->second.shape.count()) {
        add(role, {std::numeric_limits<double>::infinity(), 1, 0},
            array.shape.ToString() + " and " + other->second.shape.ToString());
        continue;
      }
      const ValueDifference values =
          DifferenceOf(array.data, other->second.data, array.shape.count());
      if (values.absolute > 0) add(role, values, TextOf(array, other->second, values, tolerance));
    }
  }
  return found;
}

}  // namespace doppio
