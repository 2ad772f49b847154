// What a sweep varies: fields of the solver or the net and the values they may take. Pure: from
// text to values. A value is kept as the text that --set gets, so that a journal, a table and a
// command line say the same.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_SPACE_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_SPACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

// --param=NAME=SPEC, of which NAME is a path of --set and SPEC one of
//   0.1,0.01          these values; a comma in brackets, braces or quotes is part of a value
//   choice:a,b        the same, for values that look like one of the others
//   log:1e-4..1e-1    from the first to the last, evenly in the logarithm; :4 behind it is how many
//   points a grid takes lin:0..1          the same, evenly int:16..128       whole numbers; :16
//   behind it is the step, 1
struct SweepParam {
  enum Kind { kList, kLinear, kLog, kInt };
  std::string name;
  Kind kind = kList;
  std::vector<std::string> values;  // kList
  double first = 0, last = 0;
  int64_t step = 1;    // kInt
  int64_t points = 0;  // of a grid over kLinear and kLog; 0: not said

  // How many values it may take; 0: a range without a number of points.
  int64_t count() const;
  // Of count().
  std::string ValueAt(int64_t index) const;
};

// Throws UserError at the option.
SweepParam ParseSweepParam(const std::string& text);

// A value for each parameter, in their order.
using SweepPoint = std::vector<std::string>;

// All combinations; the last parameter changes fastest. Throws UsageError for a range without a
// number of points, and where there are more than a million.
std::vector<SweepPoint> GridPoints(const std::vector<SweepParam>& params);

// `trials` random ones. That of a trial depends on the seed and its number alone, but for one that
// an earlier trial has got already: it is drawn anew, as long as others are found.
std::vector<SweepPoint> RandomPoints(const std::vector<SweepParam>& params, int64_t trials,
                                     uint64_t seed);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_SPACE_H_
