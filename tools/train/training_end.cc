#include "tools/train/training_end.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "core/base/file.h"
#include "core/base/log.h"
#include "tools/cli/json_text.h"
#include "tools/cli/launch_flags.h"
#include "tools/cli/output_json.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/word_list.h"

namespace doppio {

namespace {

// Returns the words that start the processes of `launch`, such as "mpirun -n 4 "; "" for one
// process.
std::string LauncherText(const Launch& launch) {
  if (launch.size == 1) return "";
  return launch.launcher.substr(0, launch.launcher.find(" (")) + " -n " +
         std::to_string(launch.size) + " ";
}

}  // namespace

std::string ResumeCommand(const CommandLine& line, const std::string& state,
                          const std::string& run_dir) {
  // `launch` gives its ranks the beginning of its own command.
  const char* const launch = std::getenv("DOPPIO_LAUNCH");
  std::string command =
      launch != nullptr ? launch : LauncherText(LaunchOf(line.flags)) + ShellQuoted(line.program);
  for (size_t i = 0; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    std::string name = word.substr(std::min(word.size(), word.find_first_not_of('-')));
    std::replace(name.begin(), std::find(name.begin(), name.end(), '='), '-', '_');
    const bool start = word[0] == '-' && Contains(Words("snapshot weights resume run_dir"),
                                                  name.substr(0, name.find('=')));
    if (!start) {
      command += " " + ShellQuoted(word);
    } else if (name.find('=') == std::string::npos && i + 1 < line.words.size() &&
               line.words[i + 1][0] != '-' && line.words[i + 1] != line.command_name) {
      ++i;  // skip the flag's value
    }
  }
  if (!run_dir.empty()) command += " --run_dir=" + ShellQuoted(run_dir);
  return command + " --resume=" + ShellQuoted(state);
}

namespace {

// Old scripts run `caffe train ... 2>&1 | tee log` and parse every line as a log line.
bool CalledAsCaffe(const CommandLine& line) {
  const std::string name = line.program.substr(DirName(line.program).size());
  return name == "caffe" || name == "train";
}

void PrintJson(const TrainingEnd& end) {
  const TrainResult& result = end.result;
  nlohmann::json out{{"iteration", result.iteration},
                     {"stopped", result.stopped},
                     {"loss", NumberOrNull(result.smoothed_loss)},
                     {"state_file", result.state_file},
                     {"model_file", result.model_file},
                     {"tests", nlohmann::json::array()}};
  if (result.loss_scale) {
    out["loss_scale"] = *result.loss_scale;
    out["updates_skipped"] = result.updates_skipped;
  }
  if (result.bad_records > 0) out["bad_records"] = result.bad_records;
  if (!end.run_dir.empty()) out["run_dir"] = end.run_dir;
  if (!end.metric.empty()) {
    out["stopped_early"] = result.stopped_early;
    out["best"] = nullptr;
  }
  if (result.best) {
    out["best"] = {{"metric", end.metric},
                   {"value", result.best->score},
                   {"iteration", result.best->iteration}};
  }
  for (const TestScores& test : result.tests) {
    nlohmann::json scores = nlohmann::json::array();
    for (const OutputValue& output : test.scores) {
      scores.push_back(ToJson(output));
    }
    out["tests"].push_back({{"net", test.net}, {"iteration", test.iteration}, {"outputs", scores}});
  }
  if (end.gpu) out["gpu"] = ToJson(*end.gpu);
  if (!end.timeline.is_null()) out["timeline"] = end.timeline;
  std::cout << JsonText(out, -1) << '\n';
}

void PrintText(const TrainingEnd& end) {
  const TrainResult& result = end.result;
  std::ostringstream text;
  text << "iteration " << result.iteration << ", loss " << result.smoothed_loss << '\n';
  for (const TestScores& test : result.tests) {
    if (!test.complete) continue;
    text << "test #" << test.net << " at iteration " << test.iteration;
    constexpr size_t kShown = 20;
    for (size_t i = 0; i < std::min(kShown, test.scores.size()); ++i) {
      text << "  " << test.scores[i].blob << ' ' << test.scores[i].value;
    }
    text << '\n';
  }
  if (result.best) {
    text << "best " << end.metric << ' ' << result.best->score << " at iteration "
         << result.best->iteration << (result.stopped_early ? ", stopped early" : "") << '\n';
  }
  if (result.bad_records > 0)
    text << "left out " << result.bad_records
         << (result.bad_records == 1 ? " bad record" : " bad records") << ", listed in the log\n";
  if (end.gpu && !Text(*end.gpu).empty()) text << Text(*end.gpu) << '\n';
  if (!result.model_file.empty()) text << "weights  " << result.model_file << '\n';
  if (!result.state_file.empty()) text << "snapshot " << result.state_file << '\n';
  if (!end.run_dir.empty()) text << "run      " << end.run_dir << '\n';
  if (!end.next.empty() && !result.stopped) {
    text << "next:\n";
    for (const std::string& command : end.next) text << "  " << command << '\n';
  }
  std::cout << text.str();
}

}  // namespace

void PrintNotice(bool terminal, const std::string& text) {
  if (terminal) std::cerr << text << '\n';  // log lines at this level are not shown on a terminal
  LOG(INFO) << text;
}

void Print(const CommandLine& line, const TrainingEnd& end, bool terminal) {
  const TrainResult& result = end.result;
  if (line.flags.json) {
    PrintJson(end);
  } else if (!CalledAsCaffe(line)) {
    PrintText(end);
  }
  if (!result.stopped) return;
  std::cout.flush();
  const std::string stopped =
      "stopped by a signal at iteration " + std::to_string(result.iteration);
  PrintNotice(terminal,
              stopped + (result.state_file.empty() ? ", without a snapshot"
                                                   : "; to continue: " + end.resume_command));
}

ExitCode CodeOf(const CommandLine& line, const TrainResult& result) {
  constexpr int kInterrupted = 128 + SIGINT;
  if (!result.stopped) return ExitCode::kDone;
  const bool own = result.snapshot_taken || line.Given("stop_exit_code");
  return static_cast<ExitCode>(own ? line.flags.stop_exit_code : kInterrupted);
}

}  // namespace doppio
