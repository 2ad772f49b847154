// Finds the known name that is closest to an unknown one, for "did you mean" suggestions.
#ifndef DOPPIO_CORE_BASE_TEXT_NEAREST_H_
#define DOPPIO_CORE_BASE_TEXT_NEAREST_H_

#include <limits>
#include <string>
#include <vector>

namespace doppio {

// Returns the smallest number of insertions, deletions, substitutions and swaps of neighbours that
// turn `a` into `b`, ignoring case. If this number exceeds `limit`, returns some number above
// `limit`.
int EditDistance(const std::string& a, const std::string& b,
                 int limit = std::numeric_limits<int>::max());

// Returns the candidates closest to `name`, in their original order: all candidates at the smallest
// distance, provided this distance is at most max(1, length of `name` / 3) edits. Returns none for
// names of more than 300 characters.
std::vector<std::string> AllNearest(const std::string& name,
                                    const std::vector<std::string>& candidates);

// Returns the first element of AllNearest, or "" if there is none.
std::string Nearest(const std::string& name, const std::vector<std::string>& candidates);

// Returns "; did you mean 'kernel_size'?", or "" if no candidate is close enough.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates);

// Returns DidYouMean or, if no candidate is close enough, the candidates: "; there are conv1, fc2",
// with the first 50 of them, or "; there are none".
std::string DidYouMeanOneOf(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_NEAREST_H_
