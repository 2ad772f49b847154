// The search space of a sweep: fields of the solver or net and their possible values. All functions
// are pure. Values are kept as the text that --set takes, so that the journal, tables and command
// lines show the same value.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_SPACE_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_SPACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

// A parameter, given as --param=NAME=SPEC. NAME is a path of --set. SPEC is one of:
//   0.1,0.01         these values; a comma in brackets, braces or quotes belongs to the value
//   choice:a,b       the same, for values that look like one of the other forms
//   log:1e-4..1e-1   a range, uniform in the logarithm; ":4" at the end sets the number of
//                    points in a grid
//   lin:0..1         a uniform range; ":4" at the end as above
//   int:16..128      integers of a range; ":16" at the end sets the step (default 1)
struct SweepParam {
  enum Kind { kList, kLinear, kLog, kInt };
  std::string name;
  Kind kind = kList;
  std::vector<std::string> values;  // for kList
  double first = 0, last = 0;
  int64_t step = 1;    // for kInt
  int64_t points = 0;  // number of grid points for kLinear and kLog; 0: not given

  // Returns the number of possible values, or 0 for a range without a number of points.
  int64_t count() const;
  // Returns value `index`; requires 0 <= index < count().
  std::string ValueAt(int64_t index) const;
};

// Parses NAME=SPEC. Throws UserError with the option as its place.
SweepParam ParseSweepParam(const std::string& text);

// One value per parameter, in the order of the parameters.
using SweepPoint = std::vector<std::string>;

// Returns all combinations of values; the last parameter changes fastest. Throws UsageError for a
// range without a number of points and for more than a million combinations.
std::vector<SweepPoint> GridPoints(const std::vector<SweepParam>& params);

// Returns `trials` random points. A trial's point depends only on the seed and the trial's number,
// unless an earlier trial has the same point: then it is drawn again, up to 100 times.
std::vector<SweepPoint> RandomPoints(const std::vector<SweepParam>& params, int64_t trials,
                                     uint64_t seed);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_SPACE_H_
