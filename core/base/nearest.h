// "Did you mean": the known name closest to one that is not known.
#ifndef DOPPIO_CORE_BASE_NEAREST_H_
#define DOPPIO_CORE_BASE_NEAREST_H_

#include <limits>
#include <string>
#include <vector>

namespace doppio {

// The least number of insertions, deletions, substitutions and swaps of neighbours that turn `a`
// into `b`, ignoring case; some number above `most` if it is above that.
int EditDistance(const std::string& a, const std::string& b,
                 int most = std::numeric_limits<int>::max());

// The candidates closest to `name`, in their order: those at the least distance, if that is within
// max(1, length / 3) edits. A name of more than 300 characters has none.
std::vector<std::string> AllNearest(const std::string& name,
                                    const std::vector<std::string>& candidates);

// The first of these, or "".
std::string Nearest(const std::string& name, const std::vector<std::string>& candidates);

// "; did you mean 'kernel_size'?" or "".
std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_NEAREST_H_
