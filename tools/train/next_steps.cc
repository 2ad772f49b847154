#include "tools/train/next_steps.h"

#include <utility>

#include "core/base/file.h"
#include "tools/cli/shell_quoted.h"
#include "tools/nets/nets.h"
#include "tools/nets/object_net.h"
#include "tools/train/training_end.h"

namespace doppio {
namespace {

// Returns the --set and --unset flags that the training was started with.
std::string OverridesText(const CommandLine& line) {
  std::string text;
  for (const std::string& set : line.flags.set) text += " --set " + ShellQuoted(set);
  for (const std::string& unset : line.flags.unset) text += " --unset " + ShellQuoted(unset);
  return text;
}

// Removes overrides of max_iter, because the longer training sets its own.
CommandLine WithoutMaxIter(CommandLine line) {
  std::vector<std::string> words;
  for (size_t i = 0; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    const bool set = word == "--set" && i + 1 < line.words.size();
    if (set && line.words[i + 1].rfind("max_iter=", 0) == 0) {
      ++i;
    } else if (word.rfind("--set=max_iter=", 0) != 0) {
      words.push_back(word);
    }
  }
  line.words = std::move(words);
  return line;
}

// Returns the command that applies the deploy net to images.
std::string CommandFor(const std::string& deploy) {
  try {
    return FindsObjects(LoadNet(NetFileOptions(), deploy, TEST).net) ? " detect" : " classify";
  } catch (const Error&) {
    return " classify";  // which reports the mistakes in the file
  }
}

}  // namespace

std::vector<std::string> NextSteps(const CommandLine& line, const SolverSpec& solver,
                                   const TrainResult& result, const std::string& run_dir) {
  std::vector<std::string> steps;
  if (result.model_file.empty()) return steps;
  const std::string program = ShellQuoted(line.program);
  const std::string weights = " --weights=" + ShellQuoted(result.model_file);
  if (!solver.tests.empty()) {
    steps.push_back(program + " test --solver=" + ShellQuoted(solver.path) + weights +
                    OverridesText(line));
  }
  const std::string deploy = DirName(solver.train.file) + "deploy.prototxt";
  if (FileExists(deploy)) {
    steps.push_back(program + CommandFor(deploy) + " --model=" + ShellQuoted(deploy) + weights +
                    " IMAGES");
  }
  if (!run_dir.empty()) steps.push_back(program + " report " + ShellQuoted(run_dir));
  if (solver.param.has_max_iter() && !result.stopped_early) {
    steps.push_back(ResumeCommand(WithoutMaxIter(line), result.state_file, run_dir) +
                    " --set max_iter=" + std::to_string(2 * int64_t{solver.param.max_iter()}));
  }
  return steps;
}

}  // namespace doppio
