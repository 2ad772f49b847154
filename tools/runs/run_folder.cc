#include "tools/runs/run_folder.h"

#include <google/protobuf/text_format.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>

#include "core/base/content/parsed_json.h"
#include "core/base/file.h"
#include "core/base/host_name.h"
#include "core/base/version.h"
#include "solvers/trainer/schedule.h"
#include "tools/cli/json_text.h"
#include "tools/runs/metrics.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kHeartbeat = std::chrono::seconds(2);

std::string TextOf(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

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

std::string FileName(const std::string& name) {
  std::string safe;
  for (char c : name)
    safe +=
        std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-", c) != nullptr ? c : '_';
  return safe.empty() ? "net" : safe;
}

void MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw FileError("cannot create the folder '", path, "': ", error.message());
}

// Creates RUNS/2026-11-20_1812_lenet, or the first free name with the suffix -2, -3, ... mkdir() is
// atomic, so the process whose call succeeds owns the folder.
std::string MakeOwnFolder(const std::string& net) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d_%H%M_", &local);
  MakeFolders(RunsFolder());
  const std::string path = RunsFolder() + "/" + time + FileName(net);
  for (int copy = 1;; ++copy) {
    std::string candidate = path + (copy == 1 ? "" : "-" + std::to_string(copy));
    if (mkdir(candidate.c_str(), 0777) == 0) return candidate;
    if (errno != EEXIST)
      throw FileError("cannot create the folder '", candidate, "': ", std::strerror(errno));
  }
}

// Blocks until no other process writes this run. Throws UsageError if one is still writing.
void WaitUntilLeft(const std::string& path) {
  std::optional<double> heard;
  for (;; std::this_thread::sleep_for(std::chrono::seconds(1))) {
    const RunRecord run = ReadRunEnd(path);
    const bool own = run.host == HostName() && run.pid == getpid();
    if (run.status != "running" || own) return;
    if (run.host == HostName() || (heard && run.heartbeat > *heard)) {
      throw UsageError("--run_dir=", path, " is in use: process ", run.pid, " on ", run.host,
                       " trains there");
    }
    if (!heard)
      LOG(INFO) << path << ": waiting up to a minute for a sign of " << run.host
                << ", where this run was last";
    heard = run.heartbeat;
  }
}

void WriteJson(const std::string& path, const json& value) {
  WriteFileAtomically(path, JsonText(value, 1) + "\n");
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

}  // namespace

RunFolder::RunFolder(const std::string& name, const RunStart& start) : begun_(SecondsSinceEpoch()) {
  Open(name, start);
  WriteInputs(*start.solver);
  MakeFolders(path_ + "/tb");
  metrics_ = std::make_unique<MetricFiles>(path_, begun_);
  log_ = std::make_unique<LogFile>(path_ + "/log.txt");
  LOG(INFO) << "Run folder: " << path_;
  WriteRun();
  heart_ = std::thread([this] { Beat(); });
}

// If End() and Fail() were not called, the run ended unexpectedly: the folder is left as a killed
// process would leave it.
RunFolder::~RunFolder() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  stop_.notify_all();
  if (heart_.joinable()) heart_.join();
}

void RunFolder::Open(const std::string& name, const RunStart& start) {
  path_ = name == "auto" ? MakeOwnFolder(start.solver->train.net.name()) : name;
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  MakeFolders(path_);
  const bool locked = Lock();
  double started = begun_;
  if (IsRunFolder(path_)) {
    if (!start.resumes && !start.takes_over) {
      throw UsageError(
          "--run_dir=", path_,
          " holds a run already; give --resume=auto to continue it, or another folder");
    }
    if (!start.takes_over) WaitUntilLeft(path_);
    const RunRecord earlier = ReadRunEnd(path_);
    started = earlier.started;
    seconds_before_ = earlier.Seconds();
    goes_on_ = true;
  }
  if (!locked && !start.takes_over)
    throw UsageError("--run_dir=", path_, " is in use: another process begins to train there");
  if (goes_on_) fs::remove(path_ + "/exit.json");
  json argv = json::array({start.line->program});
  for (const std::string& word : start.line->words) argv.push_back(word);
  std::error_code removed;  // a training whose paths are absolute needs no working folder
  run_ = {{"id", fs::absolute(path_).filename().string()},
          {"argv", argv},
          {"cwd", fs::current_path(removed).string()},
          {"host", HostName()},
          {"user", UserName()},
          {"version", Version()},
          {"commit", Commit()},
          {"gpus", start.devices},
          {"seed", nullptr},
          {"solver", start.solver->path},
          {"net", start.solver->train.net.name()},
          {"started", started},
          {"images_per_s", nullptr},
          {"pid", getpid()},
          {"status", "running"},
          {"parent", nullptr},
          {"max_iter", start.solver->param.max_iter()},
          {"job", JobVariables()}};
}

// Two processes that start at the same moment do not see each other's run.json, so a lock decides.
// It is released when the process ends. On file systems without locks, always succeeds.
bool RunFolder::Lock() {
  const std::string path = path_ + "/.lock";
  lock_ = UniqueFd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (!lock_.open()) throw FileError("cannot write '", path, "': ", std::strerror(errno));
  return flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void RunFolder::WriteInputs(const SolverSpec& solver) {
  WriteFileAtomically(path_ + "/solver.prototxt", TextOf(solver.param));
  WriteFileAtomically(path_ + "/net.prototxt", TextOf(solver.train.net));
  for (size_t i = 0; i < solver.tests.size(); ++i) {
    if (solver.tests[i].file == solver.train.file && solver.tests[i].file != solver.path) continue;
    WriteFileAtomically(path_ + "/test_net_" + std::to_string(i) + ".prototxt",
                        TextOf(solver.tests[i].net));
  }
  MakeFolders(path_ + "/inputs");
  std::set<std::string> files = {solver.path, solver.train.file};
  for (const NetSource& test : solver.tests) files.insert(test.file);
  std::set<std::string> names;
  for (const std::string& file : files) {
    std::string name = fs::path(file).filename().string();
    for (int copy = 2; !names.insert(name).second; ++copy)
      name = fs::path(file).filename().string() + "." + std::to_string(copy);
    if (FileExists(file)) WriteFileAtomically(path_ + "/inputs/" + name, ReadFile(file));
  }
}

void RunFolder::WriteRun() {
  const std::lock_guard<std::mutex> alone(writing_);
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    AddHeartbeat();
    text = JsonText(run_, 1) + "\n";
  }
  WriteFileAtomically(path_ + "/run.json", text);
}

// Requires mutex_. During a test, the rate is that of the last iterations.
void RunFolder::AddHeartbeat() {
  const double now = SecondsSinceEpoch();
  run_["heartbeat"] = now;
  run_["iter"] = iteration_.load();
  run_["seconds"] = seconds_before_ + std::max(0.0, now - begun_);  // the clock may be set back
  if (images_ > 0 && work_seconds_ > 0)
    run_["images_per_s"] = static_cast<double>(images_) / work_seconds_;
  images_ = 0;
  work_seconds_ = 0;
}

void RunFolder::Beat() {
  bool failed = false;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (stop_.wait_for(lock, kHeartbeat, [this] { return ended_; })) return;
    }
    try {
      WriteRun();
      failed = false;
    } catch (const FileError& e) {
      if (!failed) LOG(WARNING) << e.what();
      failed = true;
    }
  }
}

void RunFolder::Begin(Trainer* trainer, const Device& device, const std::string& parent,
                      const std::string& metric) {
  metrics_->Begin(FindSource(trainer->train_net()).samples, device.listed() ? &device : nullptr);
  metric_ = metric;
  iteration_ = trainer->iteration();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    run_["seed"] = trainer->parts().run.seed;
    run_["max_iter"] = trainer->parts().run.schedule.max_iter;
    if (!parent.empty()) run_["parent"] = parent;
  }
  WriteRun();
  if (goes_on_) metrics_->Resume(trainer->iteration());
}

void RunFolder::Iteration(const Progress& progress) {
  iteration_ = progress.iteration;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    images_ += progress.images;
    work_seconds_ += progress.seconds;
  }
  metrics_->Iteration(progress);
}

void RunFolder::Test(const TestScores& scores) { metrics_->Test(scores); }

void RunFolder::Best(const BestState& best, const KeptSnapshots& kept) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    run_["best"] = {{"metric", metric_}, {"value", best.score}, {"iter", best.iteration}};
  }
  LinkSnapshots(kept);
}

void RunFolder::Snapshot(const TakenSnapshot& snapshot, const KeptSnapshots& kept) {
  metrics_->Event("snapshot", snapshot.iteration, {{"file", snapshot.names.state}});
  LinkSnapshots(kept);
}

void RunFolder::World(int ranks, const std::string& left, const std::string& came) {
  metrics_->Event("world", iteration_, {{"ranks", ranks}, {"left", left}, {"came", came}});
}

// An error must not end the training, so it is only logged.
void RunFolder::Layers(const json& layers) {
  try {
    WriteJson(path_ + "/layers.json", layers);
  } catch (const FileError& e) {
    LOG(WARNING) << e.what();
  }
}

void RunFolder::LinkSnapshots(const KeptSnapshots& kept) {
  const auto link = [&](const std::string& name, const SnapshotNames* names) {
    if (names == nullptr) return;
    const std::string kind = EndsWith(names->state, ".h5") ? ".h5" : "";
    LinkFile(path_, name + ".caffemodel" + kind, names->model);
    LinkFile(path_, name + ".solverstate" + kind, names->state);
  };
  link("last", kept.last());
  link("best", kept.best());
}

void RunFolder::End(const TrainResult& result, ExitCode code, const std::string& resume_command) {
  metrics_->Flush();
  iteration_ = result.iteration;
  json exit = {{"code", static_cast<int>(code)},
               {"reason", result.stopped         ? "stopped by a signal"
                          : result.stopped_early ? "stopped early"
                                                 : "finished"},
               {"iter", result.iteration},
               {"error", nullptr},
               {"resume_command",
                result.stopped && !resume_command.empty() ? json(resume_command) : json(nullptr)}};
  WriteExit(exit, result.stopped ? "stopped" : "finished");
}

void RunFolder::Fail(ExitCode code, const std::string& error, const std::string& resume_command) {
  log_->AddError(error);
  if (code == ExitCode::kNonFinite) metrics_->Event("nonfinite", iteration_);
  WriteExit({{"code", static_cast<int>(code)},
             {"reason", "failed"},
             {"iter", iteration_.load()},
             {"error", error},
             {"resume_command", resume_command.empty() ? json(nullptr) : json(resume_command)}},
            "failed");
}

void RecordLostRun(const std::string& path, const Error& failure) {
  if (!FileExists(path + "/run.json") || FileExists(path + "/exit.json")) return;
  json run = ParsedJson(ReadListedFile(path + "/run.json"));
  if (!run.is_object() || run["status"] != "running") return;
  const auto field = [&](const char* name) { return run.contains(name) ? run[name] : json(); };
  const double now = SecondsSinceEpoch();
  const json started = field("started");
  const json exit = {{"code", static_cast<int>(failure.code())},
                     {"reason", "failed"},
                     {"iter", field("iter")},
                     {"error", failure.what()},
                     {"resume_command", nullptr},
                     {"seconds", now - (started.is_number() ? started.get<double>() : now)},
                     {"best", field("best")}};
  WriteJson(path + "/exit.json", exit);
  run["status"] = "failed";
  WriteJson(path + "/run.json", run);
}

void RunFolder::WriteExit(json exit, const std::string& status) {
  exit["seconds"] = SecondsSinceEpoch() - begun_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto best = run_.find("best");
    exit["best"] = best == run_.end() ? json(nullptr) : *best;
    run_["status"] = status;
  }
  // Written before the status, so that a reader who sees the status finds exit.json.
  WriteJson(path_ + "/exit.json", exit);
  WriteRun();
}

}  // namespace doppio
