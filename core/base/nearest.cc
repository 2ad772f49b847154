#include "core/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

namespace doppio {
namespace {

// Of a name. An edit distance takes the product of both lengths in time and memory, and a file may
// hold names of any length.
constexpr size_t kMostCharacters = 300;

}  // namespace

int EditDistance(const std::string& a, const std::string& b) {
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> AllNearest(const std::string& name,
                                    const std::vector<std::string>& candidates) {
  int best = std::max<int>(1, static_cast<int>(name.size()) / 3);
  std::vector<std::string> nearest;
  if (name.size() > kMostCharacters) return nearest;
  for (const std::string& candidate : candidates) {
    // Names of files may be of any length, and the difference of lengths is the least distance.
    const auto longer = static_cast<int64_t>(name.size()) - static_cast<int64_t>(candidate.size());
    if (std::abs(longer) > best) continue;
    const int distance = EditDistance(name, candidate);
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

}  // namespace doppio
