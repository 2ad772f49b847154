// `report`: runs as one HTML file of charts.
#include <gflags/gflags.h>

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/metrics.h"
#include "tools/run_view.h"
#include "tools/web_page.h"

DEFINE_string(out, "report.html", "<FILE> the page to write");
DEFINE_string(title, "", "<TEXT> heading of the page; without it the runs' names");

namespace doppio {
namespace {

std::string LastPart(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(DirName(path).size());
}

// A run folder as it is, else those inside: the trials of a sweep, the runs of a folder of runs.
std::vector<std::string> Folders(const std::vector<std::string>& paths) {
  std::vector<std::string> folders;
  for (const std::string& path : paths) {
    if (IsRunFolder(path)) {
      folders.push_back(path);
      continue;
    }
    const std::vector<std::string> inside = FindRuns(path);
    if (inside.empty()) {
      throw FileError("'" + path +
                      "' is no run folder and holds none: there is no run.json (train writes one "
                      "with --run_dir)");
    }
    folders.insert(folders.end(), inside.begin(), inside.end());
  }
  return folders;
}

ExitCode RunReport(const CommandLine& line, bool* began) {
  if (line.files.empty()) {
    throw UsageError("'report' needs run folders, or a folder of them\ntry: doppio report --help");
  }
  const std::vector<std::string> folders = Folders(line.files);
  std::map<std::string, int> uses;
  for (const std::string& folder : folders) ++uses[LastPart(folder)];
  *began = true;
  nlohmann::json data = {{"live", false}, {"runs", nlohmann::json::array()}};
  for (const std::string& folder : folders) {
    // Runs of several folders may have the same name.
    const std::string name = uses[LastPart(folder)] > 1 ? folder : LastPart(folder);
    data["runs"].push_back(ViewRun(ReadRun(folder), name, PointsFor(folders.size())));
  }
  std::string title = FLAGS_title;
  if (title.empty()) {
    title = LastPart(line.files[0]);
    if (line.files.size() > 1) title += " and " + std::to_string(line.files.size() - 1) + " more";
  }
  data["title"] = title;
  const std::string page = MakePage(title, ReportScripts(), data);
  WriteFileAtomically(FLAGS_out, page);
  if (FLAGS_json) {
    std::cout << nlohmann::json{{"file", FLAGS_out},
                                {"runs", folders.size()},
                                {"bytes", page.size()}}
              << '\n';
  } else {
    std::cout << FLAGS_out << ": " << folders.size() << (folders.size() == 1 ? " run, " : " runs, ")
              << Bytes(static_cast<int64_t>(page.size())) << "; open it in a browser\n";
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "report",
                {"shows runs as one HTML file of charts, which works without a network",
                 {"out", "title", "json"},
                 {},
                 "RUN...",
                 "doppio report runs/2026-11-20_1812_lenet --out=lenet.html",
                 &RunReport});

}  // namespace
}  // namespace doppio
