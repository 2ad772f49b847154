// `sweep ask` and `sweep tell`: let another program, such as Optuna, run the trials.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/text/whole_number.h"
#include "core/net/spec/overrides.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/commands/sweep_verbs.h"
#include "tools/sweep/sweep_plan.h"
#include "tools/sweep/sweep_run.h"
#include "tools/sweep/sweep_table.h"
#include "tools/sweep/sweep_trial.h"

namespace doppio {
namespace {

// Parses the number of a trial that has begun and not ended, except by a stop. Throws UsageError
// for other text.
int64_t BegunTrial(const SweepJournal& journal, const std::string& text) {
  const int64_t number = ParseWholeNumber(text).value_or(-1);
  if (number < 0 || number >= static_cast<int64_t>(journal.trials().size())) {
    throw UsageError("'" + text + "' is not the number of a trial that 'sweep ask' started");
  }
  const SweepTrial::State state = journal.trials()[number].state;
  if (state != SweepTrial::kRunning && state != SweepTrial::kStopped) {
    throw UsageError("trial " + text + " has already ended, or never started");
  }
  return number;
}

// Returns true if a signal has ended the trial before its last iteration.
bool WasStopped(const SweepJournal& journal, int64_t trial) {
  const MetricRule metric = ParseMetricRule("metric", journal.settings().metric);
  try {
    return ReadProgress(journal.folder(), trial, metric).status == "stopped";
  } catch (const FileError&) {
    return false;  // EndOf reports the damaged run folder
  }
}

}  // namespace

// Begins the next trial and prints it for another program to run. Its values are those of --set or
// the planned ones.
ExitCode SweepAsk(const CommandLine& line, bool*) {
  SweepJournal journal(line.files[0], true);
  const SweepSettings& s = journal.settings();
  if (!s.rungs.empty() || s.method == "tpe")
    throw UsageError("the method ", s.method, " runs all trials itself; use 'sweep resume'");
  if ((s.method == "ask") == line.flags.set.empty()) {
    throw UsageError(
        line.flags.set.empty()
            ? "this sweep chooses no values; give --set=NAME=VALUE"
            : "this sweep chooses the values; leave out --set, or create one with --method=ask");
  }
  ParseOverrides(line.flags.set);
  std::vector<std::string> sets = line.flags.set;
  int64_t number = 0;
  {
    const SweepJournal::Hold hold(&journal);
    const auto begun = [&](int64_t trial) {
      return trial < static_cast<int64_t>(journal.trials().size()) &&
             journal.trials()[trial].state != SweepTrial::kWaiting;
    };
    while (begun(number)) ++number;
    if (s.method != "ask") {
      if (number >= s.trials) {
        std::cout << "null\n";
        return ExitCode::kDone;
      }
      sets = PlannedSets(s)[number];
    }
    journal.Begin(number, 0, sets);
  }
  std::cout << JsonText({{"trial", number},
                         {"values", SweepValues(sets)},
                         {"run", TrialFolder(journal.folder(), number)},
                         {"command", TrialCommand(line.flags.program, s, journal.folder(),
                                                  {number, 0}, sets, "")}},
                        -1)
            << '\n';
  return ExitCode::kDone;
}

// Records the result of such a trial: a score, "failed", "pruned", or the result in its run folder,
// where a trial that was stopped before its end is "stopped" and may be told again.
ExitCode SweepTell(const CommandLine& line, bool*) {
  SweepJournal journal(line.files[0], true);
  const SweepJournal::Hold hold(&journal);  // held, so that a trial ends only once
  const int64_t number = BegunTrial(journal, line.files[1]);
  SweepJournal::End end = EndOf(journal, number, 0, 0, 0);
  const bool given = line.files.size() > 2;
  const std::string text = given ? line.files[2] : "";
  if (text == "pruned" || (!given && WasStopped(journal, number))) {
    end.state = given ? SweepTrial::kPruned : SweepTrial::kStopped;
    end.error.clear();
  } else if (given) {
    char* rest = nullptr;
    end.score = std::strtod(text.c_str(), &rest);
    const bool failed = text == "failed";
    if (!failed && (text.empty() || *rest != 0))
      throw UsageError("'" + text + "' is neither a score nor 'failed' or 'pruned'");
    end.state = failed || !std::isfinite(end.score) ? SweepTrial::kFailed : SweepTrial::kDone;
    end.error = failed                     ? "reported as failed"
                : std::isfinite(end.score) ? ""
                                           : "its score is not finite";
  }
  journal.Add(end);
  std::cout << JsonText({{"trial", number},
                         {"state", Name(end.state)},
                         {"score", NumberOrNull(end.score)},
                         {"iter", end.iter},
                         {"error",
                          end.error.empty() ? nlohmann::json(nullptr) : nlohmann::json(end.error)}},
                        -1)
            << '\n';
  return ExitCode::kDone;
}

}  // namespace doppio
