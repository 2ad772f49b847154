// What must hold for random cases. A relation is registered in its own file in relations/.
#ifndef DOPPIO_TESTS_RANDOM_RELATION_H_
#define DOPPIO_TESTS_RANDOM_RELATION_H_

#include <string>

#include "core/base/registry.h"
#include "tests/random/draw.h"
#include "tests/random/outcome.h"

namespace doppio {

struct Relation {
  // Returns what does not hold, or "". `draw` draws what the relation varies (the number of
  // threads, ...); `folder` is empty and its own. Must be a function of the case and the draws.
  std::string (*check)(const RandomCase& random_case, Draw* draw,
                       const std::string& folder) = nullptr;
  // Returns true if the relation says something about the case, by its traits.
  bool (*applies)(const RandomCase& random_case) = nullptr;
  double share = 1;  // of the seeds that try this relation
};
using Relations = Registry<Relation>;

// Tolerance for numbers that differ only by the order of additions in single precision.
constexpr double kRounding = 3e-5;

// Returns true if `a` and `b` agree up to rounding: within `tolerance`, or within what noise in the
// last place of the start weights makes of the case, whichever is larger. If not, `*why` says which
// numbers differ. Outcomes that both diverged agree; outcomes that were both refused agree if their
// exit codes do.
//
// The noise is measured by the reference kernels in double, number by number, so kinks and jumps
// near which a case happens to be excuse only what depends on them. A number that noise changes by
// more than 1e-2 proves nothing; the tally counts such comparisons. `way` is the way of `a`.
bool Agree(const RandomCase& random_case, const Outcome& a, const Outcome& b, double tolerance,
           const std::string& folder, std::string* why, const Way& way = {});

// Returns the text of Agree, or "".
std::string Compared(const RandomCase& random_case, const Outcome& a, const Outcome& b,
                     double tolerance, const std::string& folder, const Way& way = {});
// Returns what differs between outcomes that must have the same bits, or "".
std::string Same(const Outcome& a, const Outcome& b);

// Returns true if `changed`, a run in a way that the documents do not promise for every net, was
// refused with a message for the user. Counts the message in the tally.
bool Declined(const Outcome& changed);

// Returns true if the table of combinations refuses the way in which `outcome` was made. `*why` is
// "" if the run was refused with the same words; otherwise it says that it was not.
bool RefusedByTable(const Outcome& outcome, std::string* why);

// Returns the case with one iteration and without tests, for relations that look at its start only.
RandomCase StartOf(RandomCase random_case);

// Returns true if the case has none of these traits.
inline bool HasNone(const RandomCase& random_case, unsigned traits) {
  return (random_case.traits & traits) == 0;
}
// For relations that say something about every case.
inline bool Always(const RandomCase&) { return true; }

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_RELATION_H_
