#include "tools/runs/run_folder.h"

#include <google/protobuf/text_format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "core/base/host_name.h"
#include "core/base/version.h"
#include "solvers/trainer/schedule.h"
#include "tools/cli/json_text.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string UserName() {
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? std::to_string(getuid()) : user->pw_name;
}

// Returns the batch system's variables that describe the job.
json JobVariables() {
  json job = json::object();
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_RESTART_COUNT",
        "SLURM_ARRAY_TASK_ID", "PBS_JOBID", "PBS_JOBNAME", "LSB_JOBID", "LSB_JOBNAME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) job[name] = value;
  }
  return job;
}

// Returns the fields of run.json that are known before the training is built.
json RunFields(const CommandLine& line, const SolverSpec& solver,
               const std::vector<std::string>& devices, const std::string& path, double started) {
  json argv = json::array({line.program});
  for (const std::string& word : line.words) argv.push_back(word);
  std::error_code removed;  // a training whose paths are absolute needs no working folder
  return {{"id", fs::absolute(path).filename().string()},
          {"argv", argv},
          {"cwd", fs::current_path(removed).string()},
          {"host", HostName()},
          {"user", UserName()},
          {"version", Version()},
          {"commit", Commit()},
          {"gpus", devices},
          {"seed", nullptr},
          {"solver", solver.path},
          {"net", solver.train.net.name()},
          {"started", started},
          {"images_per_s", nullptr},
          {"pid", getpid()},
          {"status", "running"},
          {"parent", nullptr},
          {"iter", 0},
          {"max_iter", solver.param.max_iter()},
          {"job", JobVariables()}};
}

std::string TextOf(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

// Writes the solver and the nets as they are used, and copies of their files in inputs/.
void WriteInputs(const std::string& folder, const SolverSpec& solver) {
  WriteFileAtomically(folder + "/solver.prototxt", TextOf(solver.param));
  WriteFileAtomically(folder + "/net.prototxt", TextOf(solver.train.net));
  for (size_t i = 0; i < solver.tests.size(); ++i) {
    if (solver.tests[i].file == solver.train.file && solver.tests[i].file != solver.path) continue;
    WriteFileAtomically(folder + "/test_net_" + std::to_string(i) + ".prototxt",
                        TextOf(solver.tests[i].net));
  }
  MakeFolders(folder + "/inputs");
  std::set<std::string> files = {solver.path, solver.train.file};
  for (const NetSource& test : solver.tests) files.insert(test.file);
  std::set<std::string> names;
  for (const std::string& file : files) {
    const std::string original = fs::path(file).filename().string();
    std::string name = original;
    for (int copy = 2; !names.insert(name).second; ++copy)
      name = original + "." + std::to_string(copy);
    if (FileExists(file)) WriteFileAtomically(folder + "/inputs/" + name, ReadFile(file));
  }
}

// Creates or replaces the link `name` in `folder`. `target` may be in any folder.
void LinkFile(const std::string& folder, const std::string& name, const std::string& target) {
  std::error_code error;
  const fs::path to = fs::relative(target, folder, error);
  const std::string aside = folder + "/." + name + ".tmp";
  fs::remove(aside, error);
  fs::create_symlink(to.empty() ? fs::absolute(target, error) : to, aside, error);
  if (!error) fs::rename(aside, folder + "/" + name, error);
  if (error)
    LOG(WARNING) << "cannot link '" << folder << "/" << name << "' to '" << target
                 << "': " << error.message();
}

void LinkSnapshots(const std::string& folder, const KeptSnapshots& kept) {
  const auto link = [&](const std::string& name, const SnapshotNames* names) {
    if (names == nullptr) return;
    const std::string kind = EndsWith(names->state, ".h5") ? ".h5" : "";
    LinkFile(folder, name + ".caffemodel" + kind, names->model);
    LinkFile(folder, name + ".solverstate" + kind, names->state);
  };
  link("last", kept.last());
  link("best", kept.best());
}

}  // namespace

RunFolder::RunFolder(const CommandLine& line, const SolverSpec& solver,
                     const std::vector<std::string>& devices, const FolderUse& use)
    : begun_(SecondsSinceEpoch()),
      folder_(LockRunFolder(line.flags.run_dir, solver.train.net.name(), use)) {
  WriteInputs(path(), solver);
  MakeFolders(path() + "/tb");
  metrics_ = std::make_unique<MetricFiles>(path(), begun_);
  log_ = std::make_unique<LogFile>(path() + "/log.txt");
  LOG(INFO) << "Run folder: " << path();
  const double started = folder_.continues ? folder_.started : begun_;
  status_ = std::make_unique<RunStatus>(path(), RunFields(line, solver, devices, path(), started),
                                        RunHeartbeat{begun_, folder_.seconds});
}

void RunFolder::Begin(Trainer* trainer, const Device& device, const std::string& parent,
                      const std::string& metric) {
  metrics_->Begin(FindSource(trainer->train_net()).samples,
                  device.properties.listed ? &device : nullptr);
  metric_ = metric;
  json fields = {{"iter", trainer->iteration()},
                 {"seed", trainer->parts().run.seed},
                 {"max_iter", trainer->parts().run.schedule.max_iter}};
  if (!parent.empty()) fields["parent"] = parent;
  status_->Set(fields);
  status_->Write();
  if (folder_.continues) metrics_->Resume(trainer->iteration());
}

void RunFolder::Iteration(const Progress& progress) {
  status_->Count(progress);
  metrics_->Iteration(progress);
}

void RunFolder::Test(const TestScores& scores) { metrics_->Test(scores); }

void RunFolder::Best(const BestState& best, const KeptSnapshots& kept) {
  status_->Set({{"best", {{"metric", metric_}, {"value", best.score}, {"iter", best.iteration}}}});
  LinkSnapshots(path(), kept);
}

void RunFolder::Snapshot(const TakenSnapshot& snapshot, const KeptSnapshots& kept) {
  metrics_->Event("snapshot", snapshot.iteration, {{"file", snapshot.names.state}});
  LinkSnapshots(path(), kept);
}

void RunFolder::World(int ranks, const std::string& left, const std::string& came) {
  metrics_->Event("world", status_->iteration(),
                  {{"ranks", ranks}, {"left", left}, {"came", came}});
}

// An error must not end the training, so it is only logged.
void RunFolder::Layers(const json& layers) {
  try {
    WriteFileAtomically(path() + "/layers.json", JsonText(layers, 1) + "\n");
  } catch (const FileError& e) {
    LOG(WARNING) << e.what();
  }
}

void RunFolder::End(const TrainResult& result, ExitCode code, const std::string& resume_command) {
  metrics_->Flush();
  const char* const reason = result.stopped         ? "stopped by a signal"
                             : result.stopped_early ? "stopped early"
                                                    : "finished";
  status_->End(
      {static_cast<int>(code), reason, result.iteration, "", result.stopped ? resume_command : ""},
      result.stopped ? "stopped" : "finished");
}

void RunFolder::Fail(ExitCode code, const std::string& error, const std::string& resume_command) {
  log_->AddError(error);
  const int64_t iteration = status_->iteration();
  if (code == ExitCode::kNonFinite) metrics_->Event("nonfinite", iteration);
  status_->End({static_cast<int>(code), "failed", iteration, error, resume_command}, "failed");
}

}  // namespace doppio
