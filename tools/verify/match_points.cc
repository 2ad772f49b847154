#include "tools/verify/match_points.h"

#include <algorithm>
#include <functional>
#include <map>

#include "tools/cli/word_list.h"
#include "tools/export/weight_stats.h"

namespace doppio {
namespace {

// Returns the name without the operator that `export` adds.
std::string Base(const std::string& layer) { return layer.substr(0, layer.rfind('/')); }

class Matching {
 public:
  Matching(const VerifyForm& a, const std::vector<PlainBlob>& of_a, const VerifyForm& b,
           const std::vector<PlainBlob>& of_b, double tolerance)
      : a_(a),
        b_(b),
        of_a_(of_a),
        of_b_(of_b),
        tolerance_(tolerance),
        found_(a.points.size()),
        taken_(b.points.size(), -1) {}

  std::vector<MatchedPoint> Run() {
    MatchOutputs();
    using Name = std::function<std::string(const FormPoint&)>;
    const Name whole = [](const FormPoint& p) { return p.layer; };
    const Name base = [](const FormPoint& p) { return Base(p.layer) + "\n" + p.type; };
    const Name typed = [](const FormPoint& p) { return p.layer + "\n" + p.type; };
    const Name blob = [](const FormPoint& p) { return p.last ? p.blob : ""; };
    const std::pair<Name, Name> names[] = {
        {whole, whole}, {typed, base}, {base, typed}, {blob, blob}};
    for (const auto& [of_a, of_b] : names) MatchNames(of_a, of_b);
    MatchValues();
    MatchInOrder(true, true);
    MatchInOrder(true, false);
    MatchInOrder(false, true);
    return found_;
  }

 private:
  void Match(size_t i, size_t j, const char* how) {
    if (found_[i].other >= 0) taken_[found_[i].other] = -1;
    if (taken_[j] >= 0) found_[taken_[j]] = {};
    found_[i] = {static_cast<int>(j), how};
    taken_[j] = static_cast<int>(i);
  }

  bool IsOutput(const VerifyForm& form, size_t point) const {
    return Contains(form.outputs, static_cast<int>(point));
  }
  void MatchOutputs() {
    for (const bool by_name : {true, false}) {
      for (const int i : a_.outputs) {
        for (const int j : b_.outputs) {
          const bool named = a_.points[i].blob == b_.points[j].blob;
          if (found_[i].other >= 0 || taken_[j] >= 0 || (by_name && !named)) continue;
          Match(static_cast<size_t>(i), static_cast<size_t>(j), by_name ? "name" : "order");
        }
      }
    }
  }

  template <class NameOfA, class NameOfB>
  void MatchNames(const NameOfA& of_a, const NameOfB& of_b) {
    std::map<std::string, size_t> named;
    for (size_t j = 0; j < b_.points.size(); ++j) {
      if (taken_[j] < 0) named.emplace(of_b(b_.points[j]), j);
    }
    for (size_t i = 0; i < a_.points.size(); ++i) {
      if (found_[i].other >= 0) continue;
      const auto at = named.find(of_a(a_.points[i]));
      if (at == named.end() || at->first.empty() || taken_[at->second] >= 0) continue;
      if (!IsOutput(a_, i) && !IsOutput(b_, at->second)) Match(i, at->second, "name");
    }
  }

  bool SameShape(size_t i, size_t j) const {
    return WithoutOnes(of_a_[i].shape) == WithoutOnes(of_b_[j].shape);
  }

  bool Equal(size_t i, size_t j) const {
    const std::vector<float>&x = of_a_[i].data, &y = of_b_[j].data;
    if (x.empty() || !SameShape(i, j)) return false;
    // Most unlike values differ soon.
    constexpr int64_t kFew = 64;
    const auto count = static_cast<int64_t>(x.size());
    const ValueDifference few = DifferenceOf(x.data(), y.data(), std::min(kFew, count));
    const ValueDifference all =
        few.relative() > 100 * tolerance_ ? few : DifferenceOf(x.data(), y.data(), count);
    return all.relative() <= tolerance_;
  }

  void MatchValues() {
    const auto equal_match = [&](int i, int j) {
      return i >= 0 && j >= 0 && Equal(static_cast<size_t>(i), static_cast<size_t>(j));
    };
    std::vector<size_t> open_a, open_b;
    for (size_t i = 0; i < found_.size(); ++i) {
      if (!IsOutput(a_, i) && !equal_match(static_cast<int>(i), found_[i].other))
        open_a.push_back(i);
    }
    for (size_t j = 0; j < taken_.size(); ++j) {
      if (!IsOutput(b_, j) && !equal_match(taken_[j], static_cast<int>(j))) open_b.push_back(j);
    }
    for (const size_t i : open_a) {
      for (size_t& j : open_b) {
        if (j == taken_.size() || !Equal(i, j)) continue;
        Match(i, j, "values");
        j = taken_.size();
        break;
      }
    }
  }

  // Matches each open point of `a` with the first open one of its type or shape between the
  // partners of the points around it.
  void MatchInOrder(bool same_type, bool same_shape) {
    for (size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].other >= 0 || of_a_[i].data.empty() || IsOutput(a_, i)) continue;
      size_t begin = 0, end = taken_.size();
      for (size_t k = 0; k < i; ++k) {
        if (found_[k].other >= 0) begin = static_cast<size_t>(found_[k].other) + 1;
      }
      for (size_t k = i + 1; k < found_.size() && end == taken_.size(); ++k) {
        const int other = found_[k].other;
        if (other >= static_cast<int>(begin)) end = static_cast<size_t>(other);
      }
      for (size_t j = begin; j < end; ++j) {
        if (taken_[j] >= 0 || of_b_[j].data.empty() || IsOutput(b_, j)) continue;
        if (same_type && a_.points[i].type != b_.points[j].type) continue;
        if (same_shape && !SameShape(i, j)) continue;
        Match(i, j, "order");
        break;
      }
    }
  }

  const VerifyForm &a_, &b_;
  const std::vector<PlainBlob>&of_a_, &of_b_;
  const double tolerance_;
  std::vector<MatchedPoint> found_;
  std::vector<int> taken_;  // by point of b: the point of a
};

}  // namespace

std::vector<MatchedPoint> MatchPoints(const VerifyForm& a, const std::vector<PlainBlob>& of_a,
                                      const VerifyForm& b, const std::vector<PlainBlob>& of_b,
                                      double tolerance) {
  return Matching(a, of_a, b, of_b, tolerance).Run();
}

}  // namespace doppio
