#include "tools/runs/metrics.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/content/parsed_json.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/host_name.h"
#include "tools/runs/metric_line.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kSilence = 60;          // seconds without a heartbeat after which a run is lost
constexpr int64_t kFirstLook = 1 << 18;  // bytes at the end of the file to read first
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double NumberOf(const json& value) { return value.is_number() ? value.get<double>() : kNone; }

double NumberAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? kNone : NumberOf(*found);
}

// Returns the value of `key`, or `otherwise` if it is missing or has another type.
template <class T>
T Get(const json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  // C++ leaves the conversion of a number outside the range of an integer type undefined.
  if (std::is_integral_v<T> && !found->is_number_integer()) return otherwise;
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    return otherwise;
  }
}

std::vector<std::pair<std::string, double>> Numbers(const json& object, const char* key) {
  std::vector<std::pair<std::string, double>> numbers;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return numbers;
  for (const auto& [name, value] : found->items()) numbers.emplace_back(name, NumberOf(value));
  return numbers;
}

json ParseObject(const std::string& path) {
  json object = ParsedJson(ReadListedFile(path));
  if (!object.is_object()) throw FileError("'", path, "' is damaged: it is no JSON object");
  return object;
}

std::optional<BestScore> ReadBest(const json& object) {
  const auto best = object.find("best");
  if (best == object.end() || !best->is_object()) return std::nullopt;
  return BestScore{Get<std::string>(*best, "metric", ""), NumberAt(*best, "value"),
                   Get<int64_t>(*best, "iter", 0)};
}

TrainPoint TrainPointOf(const json& line) {
  TrainPoint point;
  point.t = NumberAt(line, "t");
  point.iter = Get<int64_t>(line, "iter", 0);
  point.epoch = NumberAt(line, "epoch");
  point.loss = NumberAt(line, "loss");
  point.lr = NumberAt(line, "lr");
  point.images_per_s = NumberAt(line, "images_per_s");
  point.data_wait = NumberAt(line, "data_wait");
  point.gpu_mem = Get<int64_t>(line, "gpu_mem", 0);
  point.outputs = Numbers(line, "outputs");
  return point;
}

// Removes the points from iteration `from` on, because the resumed run repeats them.
template <class Point>
void DropFrom(int64_t from, std::vector<Point>* points) {
  points->erase(std::remove_if(points->begin(), points->end(),
                               [&](const Point& p) { return p.iter >= from; }),
                points->end());
}

void ReadLine(const json& line, RunRecord* run) {
  const std::string phase = Get<std::string>(line, "phase", "");
  if (phase == "train") run->train.push_back(TrainPointOf(line));
  if (phase == "test") {
    run->tests.push_back({NumberAt(line, "t"), Get<int64_t>(line, "iter", 0),
                          Get<int>(line, "net", 0), Numbers(line, "scores")});
  }
  if (line.find("event") == line.end()) return;
  RunEvent event{NumberAt(line, "t"),
                 Get<std::string>(line, "event", ""),
                 Get<int64_t>(line, "iter", 0),
                 Get<std::string>(line, "file", ""),
                 Get<int>(line, "ranks", 0),
                 Get<std::string>(line, "left", ""),
                 Get<std::string>(line, "came", "")};
  if (event.event == "resume") {
    event.iter = Get<int64_t>(line, "from_iter", 0);
    DropFrom(event.iter, &run->train);
    DropFrom(event.iter, &run->tests);
  }
  run->events.push_back(std::move(event));
}

void ReadLines(const std::string& all, RunRecord* run) {
  TrainPoint point;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view text(all.data() + begin, end - begin);
    begin = end + 1;
    if (ScanTrainLine(text, &point)) {
      run->train.push_back(std::move(point));
      continue;
    }
    // A killed process leaves an incomplete line; the next process starts a new line.
    const json line = ParsedJson(std::string(text));
    if (line.is_object()) ReadLine(line, run);
  }
}

std::vector<fs::path> FoldersIn(const fs::path& folder, std::error_code* error) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, *error)) {
    std::error_code unread;
    if (entry.is_directory(unread)) folders.push_back(entry.path());
  }
  return folders;
}

// Returns the complete lines in the last `bytes` bytes of a file.
std::string EndOf(const std::string& path, int64_t bytes) {
  RefusePipe(path, "a file of a run folder");
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const int64_t from = std::max<int64_t>(0, static_cast<int64_t>(file.tellg()) - bytes);
  file.seekg(from);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (from > 0) text.erase(0, std::min(text.size(), text.find('\n')));
  return text;
}

// Uses the last line of numbers: numbers are written more often than heartbeats, and a killed run
// has no final heartbeat.
void TakeNewerProgress(RunRecord* run) {
  const bool open = run->status == "running" || run->status == "lost";
  if (open && !run->train.empty()) run->iter = std::max(run->iter, run->train.back().iter + 1);
  if (std::isnan(run->images_per_s) && !run->train.empty() && run->train.back().images_per_s > 0)
    run->images_per_s = run->train.back().images_per_s;
}

// Returns true if there is a line of training numbers and tests of two rounds, so that the last
// round is complete.
bool HasLastNumbers(const RunRecord& run) {
  return !run.train.empty() && !run.tests.empty() &&
         run.tests.front().iter != run.tests.back().iter;
}

}  // namespace

double TestPoint::Score(const std::string& name) const {
  for (const auto& [score, value] : scores) {
    if (score == name) return value;
  }
  return kNone;
}

bool IsRunFolder(const std::string& folder) { return FileExists(folder + "/run.json"); }

std::string FolderName(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

RunRecord ReadRunState(const std::string& folder) {
  if (!IsRunFolder(folder)) throw FileError("'", folder, "' is no run folder: it has no run.json");
  const json object = ParseObject(folder + "/run.json");
  RunRecord run;
  run.folder = folder;
  run.id = Get<std::string>(object, "id", "");
  run.argv = Get<std::vector<std::string>>(object, "argv", {});
  for (const auto& [key, field] : {std::pair("cwd", &run.cwd),
                                   {"host", &run.host},
                                   {"user", &run.user},
                                   {"version", &run.version},
                                   {"solver", &run.solver},
                                   {"net", &run.net},
                                   {"status", &run.status},
                                   {"parent", &run.parent}}) {
    *field = Get<std::string>(object, key, "");
  }
  run.gpus = Get<std::vector<std::string>>(object, "gpus", {});
  run.seed = Get<uint64_t>(object, "seed", 0);
  run.started = NumberAt(object, "started");
  run.heartbeat = NumberAt(object, "heartbeat");
  run.seconds = NumberAt(object, "seconds");
  run.images_per_s = NumberAt(object, "images_per_s");
  run.pid = Get<int64_t>(object, "pid", 0);
  run.max_iter = Get<int64_t>(object, "max_iter", 0);
  run.iter = Get<int64_t>(object, "iter", 0);
  run.job = Get<json>(object, "job", json::object());
  run.best = ReadBest(object);
  if (run.status == "running" && IsLost(run.heartbeat, SecondsSinceEpoch(), run.host, run.pid))
    run.status = "lost";
  const std::string exit_path = folder + "/exit.json";
  // A run in progress has not ended: exit.json may be left from an earlier part of it.
  if (run.status != "running" && run.status != "lost" && FileExists(exit_path)) {
    const json exit = ParseObject(exit_path);
    run.exit = RunExit{Get<int>(exit, "code", 0),
                       Get<std::string>(exit, "reason", ""),
                       Get<int64_t>(exit, "iter", 0),
                       Get<std::string>(exit, "error", ""),
                       Get<std::string>(exit, "resume_command", ""),
                       Get<double>(exit, "seconds", 0)};
  }
  return run;
}

RunRecord ReadRun(const std::string& folder) {
  RunRecord run = ReadRunState(folder);
  const std::string numbers = folder + "/metrics.jsonl";
  if (FileExists(numbers)) ReadLines(ReadListedFile(numbers), &run);
  TakeNewerProgress(&run);
  return run;
}

RunRecord ReadRunEnd(const std::string& folder) {
  const RunRecord without = ReadRunState(folder);
  const std::string numbers = folder + "/metrics.jsonl";
  const int64_t all = FileBytes(numbers);
  RunRecord run = without;
  for (int64_t bytes = kFirstLook; !HasLastNumbers(run) && all >= 0; bytes *= 8) {
    run = without;
    ReadLines(EndOf(numbers, bytes), &run);
    if (bytes >= all) break;
  }
  TakeNewerProgress(&run);
  return run;
}

std::vector<FoundRun> FindRuns(const std::string& folder) {
  std::vector<FoundRun> runs;
  if (IsRunFolder(folder)) runs.push_back({FolderName(folder), folder});
  std::error_code error;
  for (const fs::path& path : FoldersIn(folder, &error)) {
    const std::string name = path.filename().string();
    if (IsRunFolder(path.string())) {
      runs.push_back({name, path.string()});
      continue;
    }
    // Ignores folders that are deleted meanwhile or are not readable.
    std::error_code unread;
    for (const fs::path& inside : FoldersIn(path, &unread)) {
      if (IsRunFolder(inside.string()))
        runs.push_back({name + "/" + inside.filename().string(), inside.string()});
    }
  }
  if (error) {
    const bool to_be_made = folder == RunsFolder() && !FileExists(folder);
    throw FileError("cannot read the folder '", folder, "': ", error.message(),
                    to_be_made ? "; train --run_dir=auto makes it" : "");
  }
  std::sort(runs.begin(), runs.end(),
            [](const FoundRun& a, const FoundRun& b) { return a.name < b.name; });
  return runs;
}

std::string RunsFolder() {
  const char* named = std::getenv("DOPPIO_RUNS");
  return named == nullptr || *named == '\0' ? "runs" : named;
}

namespace {

// Returns true for a process that has ended but still has its number, because no process has waited
// for it; e.g. a child of a killed process.
bool IsZombie(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  // The format is "PID (NAME) STATE ...", and NAME may contain any character.
  const size_t end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() &&
         (stat[end + 2] == 'Z' || stat[end + 2] == 'X');
}

}  // namespace

bool IsLost(double heartbeat, double now, const std::string& host, int64_t pid) {
  if (!(now - heartbeat <= kSilence)) return true;
  if (host != HostName() || pid <= 0) return false;
  return (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) || IsZombie(pid);
}

double SecondsSinceEpoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace doppio
