// A run as tools/web/report.js shows it: what `report` writes into its page and `dash` sends to its
// own.
#ifndef DOPPIO_TOOLS_RUNS_RUN_VIEW_H_
#define DOPPIO_TOOLS_RUNS_RUN_VIEW_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/runs/metrics.h"

namespace doppio {

// What was asked of a run: the values of its resolved solver, and over them what its command line
// says, by names of flags and paths of --set ("base_lr", "seed",
// "net.layer[conv1].convolution_param.num_output").
std::map<std::string, std::string> SettingsOf(const RunRecord& run,
                                              const std::map<std::string, std::string>& resolved);

// `name` is shown; curves have at most `points` points. Keys: "name", "status", "net", "host",
// "started", "seconds", "images_per_s", "iter", "max_iter", "command", "error", "resume", "best",
// "settings", "curves" [{"kind": "train", "output" or "test", "name", "net", "x" (iteration),
// "y"}], "clock" {"x", "y" (seconds since the start)}, "epochs_per_iter", "nonfinite" and "resumed"
// (iterations), "layers" (tools/train/layer_times.h).
nlohmann::json ViewRun(const RunRecord& run, const std::string& name, size_t points);

// Points that a curve may have where so many runs share a page: 2000 for one, fewer for each of
// many.
size_t PointsFor(size_t runs);

// Whose scripts show a page of runs.
std::vector<std::string> ReportScripts();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_VIEW_H_
