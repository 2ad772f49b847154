// The efficiency of training over the number of ranks, as an SVG picture.
#ifndef DOPPIO_TOOLS_PAGES_SCALING_PLOT_H_
#define DOPPIO_TOOLS_PAGES_SCALING_PLOT_H_

#include <string>
#include <vector>

#include "parallel/reduce/scaling_model.h"

namespace doppio {

struct ScalingLine {
  std::string name;                  // shown in the legend
  std::vector<ScalingPoint> points;  // by increasing number of ranks
};

// Returns an SVG document with one curve for each of `lines`, which has at least one line. The
// number of ranks has a logarithmic axis that begins at 1; the efficiency is shown from 0 to 100 %.
// All lines must have the same numbers of ranks. Equal input gives equal bytes.
std::string MakeScalingPlot(const std::string& title, const std::vector<ScalingLine>& lines);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_SCALING_PLOT_H_
