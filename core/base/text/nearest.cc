#include "core/base/text/nearest.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "core/base/text/lower_case.h"

namespace doppio {
namespace {

// Names with more characters get no suggestion. EditDistance takes time proportional to the product
// of both lengths, and names in a file may have any length.
constexpr size_t kMaxCharacters = 300;

int Smallest(const std::vector<int>& numbers) {
  return *std::min_element(numbers.begin(), numbers.end());
}

}  // namespace

int EditDistance(const std::string& a, const std::string& b, int limit) {
  const std::string x = LowerCase(a), y = LowerCase(b);
  // row[j] is the distance between the first i characters of x and the first j characters of y.
  // Computing a row needs the two previous rows.
  std::vector<int> last_but_one, last(y.size() + 1), row(y.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= x.size(); ++i) {
    last_but_one = last;
    last = row;
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= y.size(); ++j) {
      const int substituted = last[j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1);
      row[j] = std::min(substituted, std::min(last[j], row[j - 1]) + 1);
      const bool swapped = i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1];
      if (swapped) row[j] = std::min(row[j], last_but_one[j - 2] + 1);
    }
    // All later distances are at least the smallest distance in these two rows.
    if (std::min(Smallest(last), Smallest(row)) > limit) return limit + 1;
  }
  return row[y.size()];
}

std::vector<std::string> AllNearest(const std::string& name,
                                    const std::vector<std::string>& candidates) {
  int best = std::max<int>(1, static_cast<int>(name.size()) / 3);
  std::vector<std::string> nearest;
  if (name.size() > kMaxCharacters) return nearest;
  for (const std::string& candidate : candidates) {
    // Candidates may have any length. The difference in length is a lower bound of the distance, so
    // this check skips most long ones.
    const auto longer = static_cast<int64_t>(name.size()) - static_cast<int64_t>(candidate.size());
    if (std::abs(longer) > best) continue;
    const int distance = EditDistance(name, candidate, best);
    if (distance < best) nearest.clear();
    if (distance <= best) nearest.push_back(candidate);
    best = std::min(best, distance);
  }
  return nearest;
}

std::string Nearest(const std::string& name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> nearest = AllNearest(name, candidates);
  return nearest.empty() ? "" : nearest[0];
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

std::string DidYouMeanOneOf(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr size_t kShown = 50;
  std::string meant = DidYouMean(name, candidates);
  if (!meant.empty()) return meant;
  std::string list = candidates.empty() ? "none" : candidates[0];
  for (size_t i = 1; i < std::min(kShown, candidates.size()); ++i) list += ", " + candidates[i];
  if (candidates.size() > kShown) {
    list += " and " + std::to_string(candidates.size() - kShown) + " more";
  }
  return "; there are " + list;
}

}  // namespace doppio
