#include "tools/sweep/sweep_tpe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/content/parsed_json.h"
#include "core/base/error.h"
#include "solvers/scores/monitor.h"
#include "tools/cli/embedded_files.h"
#include "tools/cli/json_text.h"
#include "tools/cli/shell_quoted.h"
#include "tools/sweep/program_answer.h"
#include "tools/sweep/sweep_space.h"

namespace doppio {
namespace {

constexpr int kNoProgram = 127;  // of the shell
constexpr int kNoOptuna = 3;     // of tpe.py

// Returns the search space as tpe.py reads it.
nlohmann::json SpaceOf(const SweepSettings& settings, int64_t trial) {
  const char* const kinds[] = {"list", "lin", "log", "int"};  // by SweepParam::Kind
  nlohmann::json params = nlohmann::json::array();
  for (const std::string& text : settings.params) {
    const SweepParam param = ParseSweepParam(text);
    params.push_back({{"name", param.name},
                      {"kind", kinds[param.kind]},
                      {"values", param.values},
                      {"first", param.first},
                      {"last", param.last},
                      {"step", param.step}});
  }
  return {{"seed", settings.seed},
          {"maximize", ParseMetricRule("metric", settings.metric).maximise},
          {"known", std::max<int64_t>(0, trial - settings.jobs + 1)},
          {"params", params}};
}

}  // namespace

std::vector<std::string> TpeSets(const std::string& python, const SweepSettings& settings,
                                 const std::string& folder, int64_t trial) {
  const ProgramAnswer answer =
      AskProgram({python, "-c", SweepFiles().at("tpe.py"), folder + "/sweep.jsonl",
                  std::to_string(trial), JsonText(SpaceOf(settings, trial), -1)});
  const std::string other = "; --python or DOPPIO_PYTHON names another interpreter";
  if (answer.code == kNoProgram)
    throw UsageError("--method=tpe needs Python with Optuna; there is no program " + python, other);
  if (answer.code == kNoOptuna) {
    throw UsageError("--method=tpe needs Optuna, which ", python,
                     " does not have: ", ShellQuoted(python), " -m pip install optuna", other);
  }
  const size_t end = answer.text.find_last_not_of('\n') + 1;
  const size_t begin = answer.text.substr(0, end).rfind('\n') + 1;
  const std::string last = answer.text.substr(begin, end - begin);
  const nlohmann::json sets = ParsedJson(last);
  if (answer.code == 0 && sets.is_array() && sets.size() == settings.params.size())
    return sets.get<std::vector<std::string>>();
  throw UsageError("Optuna in ", python, " chooses no values for trial ", trial, " (code ",
                   answer.code, "): ", last);
}

}  // namespace doppio
