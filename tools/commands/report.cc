// `report`: writes an HTML file with charts of runs.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "tools/cli/command.h"
#include "tools/pages/web_page.h"
#include "tools/runs/metrics.h"
#include "tools/runs/run_view.h"

namespace doppio {
namespace {

constexpr size_t kMostWithImages = 8;  // runs whose evaluations are shown whole

// Returns each path that is a run folder, and for other paths the run folders inside: the trials of
// a sweep or the runs of a folder.
std::vector<FoundRun> RunsOf(const std::vector<std::string>& paths) {
  std::vector<FoundRun> runs;
  for (const std::string& path : paths) {
    if (IsRunFolder(path)) {
      runs.push_back({FolderName(path), path});
      continue;
    }
    const std::vector<FoundRun> inside = FindRuns(path);
    if (inside.empty()) {
      throw FileError("'" + path +
                      "' is not a run folder and contains none: there is no run.json (train writes "
                      "one with --run_dir)");
    }
    runs.insert(runs.end(), inside.begin(), inside.end());
  }
  return runs;
}

ExitCode RunReport(const CommandLine& line, bool* began) {
  const std::vector<FoundRun> runs = RunsOf(line.files);
  std::map<std::string, int> uses;
  for (const FoundRun& run : runs) ++uses[run.name];
  *began = true;
  nlohmann::json data = {{"live", false}, {"runs", nlohmann::json::array()}};
  for (const FoundRun& run : runs) {
    // Uses the folder as the name if runs in several folders have the same name.
    const std::string name = uses[run.name] > 1 ? run.folder : run.name;
    data["runs"].push_back(ViewRun(ReadRun(run.folder), name, PointsFor(runs.size())));
    if (runs.size() > kMostWithImages) ShortenEvaluation(&data["runs"].back());
  }
  std::string title = line.flags.title;
  if (title.empty()) {
    title = FolderName(line.files[0]);
    if (line.files.size() > 1) title += " and " + std::to_string(line.files.size() - 1) + " more";
  }
  data["title"] = title;
  const std::string page = MakePage(title, ReportScripts(), data);
  const std::string out = line.flags.out.empty() ? "report.html" : line.flags.out;
  WriteFileAtomically(out, page);
  if (line.flags.json) {
    std::cout << nlohmann::json{{"file", out}, {"runs", runs.size()}, {"bytes", page.size()}}
              << '\n';
  } else {
    std::cout << out << ": " << runs.size() << (runs.size() == 1 ? " run, " : " runs, ")
              << Bytes(static_cast<int64_t>(page.size())) << "; open it in a browser\n";
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "report",
                {"writes charts of runs to one HTML file, which needs no network",
                 {"out", "title", "json"},
                 {},
                 "RUN...",
                 "doppio report runs/2026-11-20_1812_lenet --out=lenet.html",
                 &RunReport});

}  // namespace
}  // namespace doppio
