// `check`: reports all errors in nets and solvers without running them.
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/file.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/spec/state_rule.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/features.h"
#include "solvers/trainer/nothing_learned.h"
#include "solvers/trainer/schedule.h"
#include "solvers/update/loss_scaler.h"
#include "tools/cli/command.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/print_errors.h"
#include "tools/cli/word_list.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/nets/solver_check.h"

namespace doppio {
namespace {

// Returns true if the error is that of a missing file, or of a missing module of a Python layer.
bool IsMissing(const Error& error) {
  return error.code() == ExitCode::kFile ||
         error.message().find("ModuleNotFoundError: ") != std::string::npos;
}

// Returns the message without "in the TEST net: ".
std::string WithoutPhase(const std::string& message) {
  for (Phase phase : {TRAIN, TEST}) {
    NetState state;
    state.set_phase(phase);
    const std::string start = InNet(state);
    if (message.compare(0, start.size(), start) == 0) return message.substr(start.size());
  }
  return message;
}

struct Findings {
  std::string file;
  bool solver = false;
  bool lenient = false;  // with --nodata: missing files and modules are warnings
  std::vector<Error> errors;
  std::vector<Warning> warnings;
  std::set<std::pair<std::string, std::string>> warned;  // places and messages of the warnings
  std::vector<std::string> notes;                        // summaries of the nets without errors

  // A net is checked once per phase, so most errors occur twice. Adds each error once, and names
  // its phase only if it does not occur in the other one.
  void Add(const Error& error) {
    if (lenient && IsMissing(error)) return Add(Warning{error.at(), error.message()});
    const Error bare(error.code(), error.at(), WithoutPhase(error.message()));
    for (Error& known : errors) {
      if (known.at().ToString() != error.at().ToString()) continue;
      if (known.message() == error.message()) return;
      if (WithoutPhase(known.message()) != bare.message()) continue;
      known = bare;
      return;
    }
    errors.push_back(error);
  }
  void Add(const Warning& warning) {
    if (warned.emplace(warning.at.ToString(), warning.message).second) warnings.push_back(warning);
  }
  template <class F>
  bool Try(F&& f) {
    ErrorCollector collector;
    const bool fine = collector.Try(f);
    for (const Error& e : collector.errors()) Add(e);
    return fine;
  }
};

// Returns the net's graph. With --nodata, missing data whose shape is unknown gets the first usual
// shape with which the net has no mistakes. Without one, throws the error of the missing data.
Graph GraphToCheck(const CommandLine& line, const NetSource& source) {
  NetOptions options = MakeNetOptions(line.flags, line.flags.precision, TRAIN, DataMode::kAssume);
  if (line.flags.nodata) {
    for (const Shape& sample :
         {Shape{3, 224, 224}, Shape{3, 32, 32}, Shape{1, 28, 28}, Shape{2, 28, 28}}) {
      options.usual_sample = sample;
      try {
        return AssumedGraph(options, source);
      } catch (const Error&) {
        // The mistake may be that of the assumed shape.
      }
    }
  }
  options.usual_sample.reset();
  return AssumedGraph(options, source);
}

// For a solver, missing files are errors, because a training would fail. For a net they are
// warnings, because it may be for another machine.
void AddMissing(const Graph& graph, Findings* findings) {
  for (const Error& e : MissingFiles(graph)) {
    if (findings->solver) {
      findings->Add(e);
    } else {
      findings->Add(Warning{e.at(), e.message()});
    }
  }
}

// `of_solver` are the features of the solver that trains the net, if any. `more` returns the
// warnings for a net of a solver.
void CheckGraph(const CommandLine& line, const NetSource& source, Findings* findings,
                const Features& of_solver = {},
                const std::function<std::vector<Warning>(const Graph&)>& more = nullptr) {
  findings->Try([&] {
    const Graph graph = GraphToCheck(line, source);
    for (const Warning& warning : LayerWarnings(graph)) findings->Add(warning);
    for (const Warning& warning : LooseEnds(graph)) findings->Add(warning);
    for (const Warning& warning : StatisticsOfBatches(graph)) findings->Add(warning);
    for (const Warning& warning : more ? more(graph) : std::vector<Warning>())
      findings->Add(warning);
    AddMissing(graph, findings);
    Features features = of_solver;
    features.Add(FeaturesOf(graph));
    if (source.state.phase() == TRAIN) findings->Try([&] { CheckCombinations(features); });
    findings->notes.push_back(Phase_Name(source.state.phase()) + ": " +
                              std::to_string(graph.nodes.size()) + " layers, " +
                              std::to_string(ParameterCount(graph)) + " parameters");
  });
}

// Returns true if the net has a source for this phase. A file for training only has no data layer
// for the phase TEST and need not be checked for it.
bool HasSources(const NetSource& source) {
  bool found = false;
  ErrorCollector ignored;  // CheckGraph reports the errors
  ignored.Try([&] {
    const NetSpec spec = MakeNetSpec(source.net, source.places, source.state, NetOptions());
    found = std::any_of(spec.layers.begin(), spec.layers.end(),
                        [](const LayerSpec& layer) { return layer.param.bottom_size() == 0; });
  });
  return found;
}

void CheckNet(const CommandLine& line, const std::string& file, Findings* findings) {
  std::vector<NetSource> sources;
  for (Phase phase : {TRAIN, TEST}) {
    if (PhaseOr(line.flags.phase, phase) != phase) continue;
    findings->Try([&] { sources.push_back(LoadNet(line.flags, file, phase)); });
  }
  if (sources.empty()) return;
  for (const Warning& warning : sources[0].warnings) findings->Add(warning);
  findings->Try([&] { LossScalingOf(sources[0].net, sources[0].places); });
  for (const Warning& warning : IgnoredFields(sources[0].net, sources[0].places))
    findings->Add(warning);
  const bool any =
      line.flags.phase.empty() && std::any_of(sources.begin(), sources.end(), HasSources);
  for (const NetSource& source : sources) {
    if (!any || HasSources(source)) CheckGraph(line, source, findings);
  }
}

void CheckSolver(const CommandLine& line, const std::string& file, Findings* findings) {
  findings->solver = true;
  NetFileOptions options = line.flags;
  options.solver = file;
  SolverSpec spec;
  if (!findings->Try([&] { spec = LoadSolver(options); })) return;
  for (const Warning& warning : WarningsOf(spec)) findings->Add(warning);
  findings->Try([&] { CheckRules(spec); });
  findings->Try([&] { CheckFiles(spec); });
  if (PhaseOr(line.flags.phase, TRAIN) == TRAIN)
    CheckGraph(line, spec.train, findings, FeaturesOf(spec), NothingLearned);
  if (PhaseOr(line.flags.phase, TEST) == TRAIN) return;
  for (size_t i = 0; i < spec.tests.size(); ++i) {
    CheckGraph(line, spec.tests[i], findings, {},
               [&](const Graph& graph) { return RepeatedSamples(FindSource(graph), spec, i); });
  }
}

void PrintText(const Findings& findings) {
  PrintErrors(findings.errors, std::cout);
  for (const Warning& w : findings.warnings) PrintFinding(w.at, "warning", w.message, std::cout);
  const auto count = [](size_t number, const std::string& thing) {
    return (number == 0 ? "no" : std::to_string(number)) + " " + thing + (number == 1 ? "" : "s");
  };
  std::cout << findings.file << ": " << count(findings.errors.size(), "error");
  if (!findings.warnings.empty()) std::cout << ", " << count(findings.warnings.size(), "warning");
  if (findings.errors.empty()) {
    for (const std::string& note : findings.notes) std::cout << "; " << note;
  }
  std::cout << '\n';
}

nlohmann::json ToJson(const SourceLoc& at, const std::string& message) {
  return {{"file", at.file}, {"line", at.line}, {"column", at.column}, {"message", message}};
}

void PrintJson(const std::vector<Findings>& all) {
  nlohmann::json out;
  out["files"] = nlohmann::json::array();
  size_t errors = 0, warnings = 0;
  for (const Findings& findings : all) {
    nlohmann::json file{{"file", findings.file},
                        {"kind", findings.solver ? "solver" : "net"},
                        {"errors", nlohmann::json::array()},
                        {"warnings", nlohmann::json::array()}};
    for (const Error& e : findings.errors) file["errors"].push_back(ToJson(e.at(), e.message()));
    for (const Warning& w : findings.warnings) file["warnings"].push_back(ToJson(w.at, w.message));
    errors += findings.errors.size();
    warnings += findings.warnings.size();
    out["files"].push_back(file);
  }
  out["errors"] = errors;
  out["warnings"] = warnings;
  std::cout << JsonText(out) << '\n';
}

ExitCode RunCheck(const CommandLine& line, bool*) {
  const bool json = line.flags.json || line.flags.format == "json";
  if (!json) CheckValue("format", line.flags.format, {"text", "json"});
  PhaseOr(line.flags.phase, TRAIN);  // checks the flag
  std::vector<std::string> files = line.files;
  for (const std::string& file : {line.flags.solver, line.flags.model}) {
    if (!file.empty()) files.push_back(file);
  }
  if (files.empty()) throw UsageError("'check' needs files\ntry: doppio check --help");
  ParseOverrides(line.flags.set, line.flags.unset);  // reports their mistakes before any file
  std::vector<Findings> all;
  ExitCode code = ExitCode::kDone;
  for (const std::string& file : files) {
    Findings findings;
    findings.file = file;
    findings.Try([&] {
      CheckExists(file);
      const std::string text = ReadFile(file);
      if (LooksLikeLabelMap(text, file)) {
        throw UserError(SourceLoc{file},
                        "this is a label map, item { name: ... label: ... }, and not a net or "
                        "solver; check the net whose label_map_file names it");
      }
      const std::string placeholder = PlaceholderIn(text, file);
      if (!placeholder.empty()) {
        throw UserError(SourceLoc{file},
                        "this is a template of a net, in which '" + placeholder +
                            "' stands for a number; check the file that the template's script "
                            "makes from it");
      }
      findings.lenient = line.flags.nodata;
      if (LooksLikeSolver(text, file)) {
        CheckSolver(line, file, &findings);
      } else {
        CheckNet(line, file, &findings);
      }
    });
    for (const Error& e : findings.errors) {
      if (code != ExitCode::kConfig) code = e.code();
    }
    if (!json) PrintText(findings);
    all.push_back(std::move(findings));
  }
  if (json) PrintJson(all);
  return code;
}

DOPPIO_REGISTER(
    Commands, "check",
    {"reports all errors in nets and solvers without running them",
     Words("solver model nodata format json phase level stage batch max_pixels set unset"),
     {},
     "[FILES...]",
     "doppio check --nodata models/*/*.prototxt",
     &RunCheck});

}  // namespace
}  // namespace doppio
