#include "core/net/spec/solver_spec.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/base/text/nearest_path.h"
#include "core/net/spec/solver_fields.h"
#include "core/net/spec/spec.h"
#include "core/net/spec/upgrade.h"

namespace doppio {
namespace {

// Returns the path of the net `file`, which the field at `at` names.
std::string FindNetFile(const std::string& file, const std::string& solver_path,
                        const SourceLoc& at) {
  if (FileExists(file)) return file;
  std::string beside = DirName(solver_path) + file;
  if (FileExists(beside)) return beside;
  std::string text = "cannot find the net '" + file + "'";
  if (beside != file && file[0] != '/') text += ", nor '" + beside + "'";
  // The path is often that of another machine, on which the solver was written.
  const std::string here = DirName(solver_path) + file.substr(DirName(file).size());
  if (here != beside && FileExists(here)) {
    text += "; did you mean '" + here + "'?";
  } else {
    std::string nearest = NearestPath(file);
    if (nearest.empty()) nearest = NearestPath(beside);
    text += nearest.empty()
                ? "; paths count from the folder in which the command runs, or the solver's"
                : "; did you mean '" + nearest + "'?";
  }
  throw FileError(at, text);
}

NetSource ReadNet(const std::string& path, const Overrides& overrides) {
  NetSource source;
  source.file = path;
  source.places = ParseTextFile(path, &source.net);
  source.warnings = UpgradeInMemory(&source.net, &source.places);
  overrides.ApplyToNet(&source.net, &source.places);
  return source;
}

// Reads the nets that a solver names. Each file is read only once.
class Reader {
 public:
  Reader(const SolverSpec& solver, const Overrides& overrides)
      : solver_(solver), overrides_(overrides) {}

  NetSource File(const std::string& file, const SourceLoc& at) {
    const std::string path = FindNetFile(file, solver_.path, at);
    const auto known = files_.find(path);
    if (known != files_.end()) return known->second;
    const NetSource source = ReadNet(path, overrides_);
    warnings_.insert(warnings_.end(), source.warnings.begin(), source.warnings.end());
    return files_[path] = source;
  }

  NetSource Inline(const NetParameter& net, const std::string& field, int index = 0) {
    NetSource source;
    source.net = net;
    source.file = solver_.path;
    source.places = solver_.places.Nested(solver_.param, field, index);
    overrides_.ApplyToNet(&source.net, &source.places);
    return source;
  }

  // Returns the net that is both trained and tested. Only one of net and net_param is set, because
  // CheckTrainFields has run.
  NetSource Common() {
    const SolverParameter& param = solver_.param;
    return param.has_net_param() ? Inline(param.net_param(), "net_param")
                                 : File(param.net(), solver_.places.At("net"));
  }

  NetSource Train() {
    const SolverParameter& param = solver_.param;
    if (param.has_train_net()) return File(param.train_net(), solver_.places.At("train_net"));
    if (param.has_train_net_param()) return Inline(param.train_net_param(), "train_net_param");
    return Common();
  }

  const std::vector<Warning>& warnings() const { return warnings_; }  // warnings of all files read

 private:
  const SolverSpec& solver_;
  const Overrides& overrides_;
  std::map<std::string, NetSource> files_;
  std::vector<Warning> warnings_;
};

// Returns which of the four fields that can name the net to train are set.
std::vector<std::string> TrainFields(const SolverParameter& param) {
  std::vector<std::string> fields;
  if (param.has_net()) fields.push_back("net");
  if (param.has_net_param()) fields.push_back("net_param");
  if (param.has_train_net()) fields.push_back("train_net");
  if (param.has_train_net_param()) fields.push_back("train_net_param");
  return fields;
}

void CheckTrainFields(const SolverSpec& spec) {
  const std::vector<std::string> fields = TrainFields(spec.param);
  if (fields.empty()) {
    throw UserError(spec.places.At(), "the solver names no net to train: set net or train_net");
  }
  if (fields.size() > 1) {
    throw UserError(spec.places.At(fields[1]), "the solver names several nets to train (",
                    fields[0], " and ", fields[1], "); keep one of them");
  }
}

// Returns true if some layer makes data, so that the net can be tested. A net that is only for
// training has no such layer.
bool HasData(const NetSource& source) {
  const NetSpec spec = MakeNetSpec(source.net, source.places, source.state, NetOptions());
  return std::any_of(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& layer) {
    return layer.param.bottom_size() == 0 && layer.param.top_size() > 0;
  });
}

NetState StateOf(Phase phase, const NetParameter& net, const NetState& last) {
  NetState state;
  state.set_phase(phase);
  state.MergeFrom(net.state());
  state.MergeFrom(last);
  return state;
}

int NamedTests(const SolverParameter& param) {
  return param.test_net_param_size() + param.test_net_size();
}

// Returns the number of tests: the number of test_iter fields, or of named test nets if there is no
// test_iter.
int CountTests(const SolverSpec& spec) {
  const SolverParameter& param = spec.param;
  const int named = NamedTests(param), given = param.test_iter_size();
  const bool common = param.has_net() || param.has_net_param();
  if (given > 0 && (given < named || (given > named && !common))) {
    throw UserError(spec.places.At("test_iter", std::max(0, given - 1)), "there are ", given,
                    " test_iter for ", named, " test nets; give one for each, or none");
  }
  return given > 0 ? given : named;
}

void CheckTestFields(const SolverSpec& spec, size_t tests) {
  const SolverParameter& param = spec.param;
  const int states = param.test_state_size();
  if (states > 0 && tests > 0 && states != static_cast<int>(tests)) {
    throw UserError(spec.places.At("test_state"), "there are ", states, " test_state for ", tests,
                    " tests; give one for each, or none");
  }
  for (int i = 0; i < param.test_iter_size(); ++i) {
    if (param.test_iter(i) < 0) {
      throw UserError(spec.places.At("test_iter", i), "test_iter must be at least 0, got ",
                      param.test_iter(i));
    }
  }
  if (tests > 0 && param.test_interval() <= 0 && param.test_epoch() <= 0) {
    const char* field = param.test_iter_size() > 0  ? "test_iter"
                        : param.test_net_size() > 0 ? "test_net"
                                                    : "test_net_param";
    throw UserError(spec.places.At(field),
                    "there is a test net but no test schedule: set test_interval or test_epoch");
  }
}

std::vector<TestNetSource> LoadTests(const SolverSpec& spec, Reader* reader) {
  const SolverParameter& param = spec.param;
  const int inlined = param.test_net_param_size(), named = NamedTests(param);
  int count = CountTests(spec);
  // Only test_interval or test_epoch requests a test, so the common net is tested.
  const bool by_interval = count == 0 && (param.test_interval() > 0 || param.test_epoch() > 0) &&
                           (param.has_net() || param.has_net_param());
  if (by_interval) count = std::max(1, param.test_state_size());
  CheckTestFields(spec, count);

  std::vector<TestNetSource> tests;
  ErrorCollector mistakes;
  for (int i = 0; i < count; ++i) {
    mistakes.Try([&] {
      TestNetSource test;
      if (i < inlined) {
        static_cast<NetSource&>(test) =
            reader->Inline(param.test_net_param(i), "test_net_param", i);
      } else if (i < named) {
        const int file = i - inlined;
        static_cast<NetSource&>(test) =
            reader->File(param.test_net(file), spec.places.At("test_net", file));
      } else {
        static_cast<NetSource&>(test) = reader->Common();
      }
      const bool has_state = i < param.test_state_size();
      test.state = StateOf(TEST, test.net, has_state ? param.test_state(i) : NetState());
      if (param.test_iter_size() > 0) test.iterations = param.test_iter(i);
      if (!by_interval || HasData(test)) tests.push_back(std::move(test));
    });
  }
  mistakes.ThrowIfAny();
  return tests;
}

// Returns the mistakes without repetitions. A net with mistakes that is both trained and tested is
// read twice.
ErrorCollector Unique(const ErrorCollector& mistakes) {
  ErrorCollector unique;
  std::set<std::string> seen;
  for (const Error& mistake : mistakes.errors()) {
    if (seen.insert(mistake.what()).second) unique.Add(mistake);
  }
  return unique;
}

}  // namespace

SolverSpec LoadSolver(const std::string& path, const Overrides& overrides, int level,
                      const std::vector<std::string>& stages) {
  SolverSpec spec;
  spec.path = path;
  spec.places = ParseTextFile(path, &spec.param);
  ForEachNet(&spec.param, spec.places, [&](NetParameter* net, FieldPlaces* places) {
    for (const Warning& warning : UpgradeInMemory(net, places)) spec.warnings.push_back(warning);
  });
  overrides.ApplyToSolver(&spec.param, &spec.places);
  ErrorCollector mistakes;
  UpgradeSolverType(spec.places, &spec.param, &mistakes);
  CheckSolverFields(spec.param, spec.places, &mistakes);
  CompleteSnapshotPrefix(path, &spec.param);

  Reader reader(spec, overrides);
  const bool one_net = mistakes.Try([&] { CheckTrainFields(spec); });
  if (one_net) {
    mistakes.Try([&] { spec.train = reader.Train(); });
    NetState last = spec.param.train_state();
    last.set_level(level);
    for (const std::string& stage : stages) last.add_stage(stage);
    spec.train.state = StateOf(TRAIN, spec.train.net, last);
    mistakes.Try([&] { spec.tests = LoadTests(spec, &reader); });
  }
  // Do not report overrides that found no net because of these mistakes.
  Unique(mistakes).ThrowIfAny();
  overrides.CheckAllUsed();
  spec.warnings.insert(spec.warnings.end(), reader.warnings().begin(), reader.warnings().end());
  for (const Warning& note : overrides.Notes()) spec.warnings.push_back(note);
  return spec;
}

NetSource LoadNet(const std::string& path, const Overrides& overrides, Phase phase, int level,
                  const std::vector<std::string>& stages) {
  NetSource source = ReadNet(path, overrides);
  overrides.CheckAllUsed();
  for (const Warning& note : overrides.Notes()) source.warnings.push_back(note);
  NetState last;
  last.set_level(level);
  for (const std::string& stage : stages) last.add_stage(stage);
  source.state = StateOf(phase, source.net, last);
  // The command decides the phase, even if the net's own state sets another.
  source.state.set_phase(phase);
  return source;
}

}  // namespace doppio
