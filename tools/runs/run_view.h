// Converts a run into the JSON that tools/web/report.js displays. `report` embeds it into its page,
// and `dash` serves it.
#ifndef DOPPIO_TOOLS_RUNS_RUN_VIEW_H_
#define DOPPIO_TOOLS_RUNS_RUN_VIEW_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/runs/metrics.h"

namespace doppio {

// Returns the settings of a run: the values of its resolved solver, overridden by those on its
// command line. Keys are names of flags and paths of --set ("base_lr", "seed",
// "net.layer[conv1].convolution_param.num_output").
std::map<std::string, std::string> SettingsOf(const RunRecord& run,
                                              const std::map<std::string, std::string>& resolved);

// Returns the JSON of a run. `name` is the displayed name; a curve has at most `points` points.
// Keys: "name", "status", "net", "host", "started", "seconds", "images_per_s", "iter", "max_iter",
// "command", "error", "resume", "best", "settings", "curves" [{"kind": "train", "output" or "test",
// "name", "net", "x" (iteration), "y"}], "clock" {"x", "y" (seconds since the start)},
// "epochs_per_iter", "nonfinite" and "resumed" (iterations), "worlds" (of an elastic training),
// "layers" (tools/timing/layer_times.h), "evaluation" (tools/evaluation/evaluation.h, or null).
nlohmann::json ViewRun(const RunRecord& run, const std::string& name, size_t points);

// Returns the maximum number of points per curve for a page with `runs` runs: 2000 for one run,
// fewer for many.
size_t PointsFor(size_t runs);

// Returns the JavaScript files that a page of runs needs.
std::vector<std::string> ReportScripts();

// Removes what a page of many runs has no room for: the images, curves and confusion matrix of the
// run's evaluation.
void ShortenEvaluation(nlohmann::json* view);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_VIEW_H_
