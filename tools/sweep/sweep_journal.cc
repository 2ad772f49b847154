#include "tools/sweep/sweep_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/content/parsed_json.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"

namespace doppio {
namespace {

constexpr const char* kStates[] = {"waiting", "running", "stopped", "done", "pruned", "failed"};
// More trials than any sweep has. Limits the memory that a damaged line can ask for.
constexpr int64_t kMostJournalTrials = 10'000'000;
constexpr int64_t kMostRungs = 1000;

std::string PathOf(const std::string& folder) { return folder + "/sweep.jsonl"; }

std::string Reason() { return std::string(" (") + std::strerror(errno) + ")"; }

nlohmann::json ToJson(const SweepSettings& s) {
  return {{"event", "sweep"},
          {"solver", s.solver},
          {"cwd", s.cwd},
          {"method", s.method},
          {"params", s.params},
          {"trials", s.trials},
          {"draws", s.draws},
          {"seed", s.seed},
          {"metric", s.metric},
          {"rungs", s.rungs},
          {"eta", s.eta},
          {"train", s.train},
          {"prune_after", s.prune_after},
          {"gpus", s.gpus},
          {"gpus_per_trial", s.gpus_per_trial},
          {"jobs", s.jobs},
          {"on", s.on}};
}

// Serialises settings exactly. Replacing invalid UTF-8 would change the names of files and values.
std::string ExactLine(const nlohmann::json& j) {
  try {
    return j.dump();
  } catch (const nlohmann::json::type_error&) {
    throw UsageError(
        "the journal of a sweep is UTF-8, and a path or a value that was given is not");
  }
}

// Checks kind and range, because json::get() converts any number without an error.
int64_t Whole(const nlohmann::json& value, const char* name, int64_t least, int64_t most) {
  const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (value.is_number_integer() && !too_large) {
    const auto number = value.get<int64_t>();
    if (number >= least && number <= most) return number;
  }
  throw FileError("its '", name, "' is not a whole number from ", least, " to ", most);
}

int64_t WholeFrom(const nlohmann::json& j, const char* key, int64_t least, int64_t most) {
  return Whole(j.at(key), key, least, most);
}

uint64_t SeedFrom(const nlohmann::json& j) {
  const nlohmann::json& seed = j.at("seed");
  if (!seed.is_number_unsigned()) throw FileError("its 'seed' is not a whole number");
  return seed.get<uint64_t>();
}

std::vector<int64_t> RungsFrom(const nlohmann::json& j) {
  const nlohmann::json& list = j.at("rungs");
  if (!list.is_array() || list.size() > kMostRungs) throw FileError("its 'rungs' are not a list");
  std::vector<int64_t> rungs;
  for (const nlohmann::json& rung : list) rungs.push_back(Whole(rung, "rungs", 0, INT32_MAX));
  return rungs;
}

SweepSettings SettingsFrom(const nlohmann::json& j) {
  SweepSettings s;
  j.at("solver").get_to(s.solver);
  j.at("cwd").get_to(s.cwd);
  j.at("method").get_to(s.method);
  j.at("params").get_to(s.params);
  s.trials = WholeFrom(j, "trials", 0, kMostJournalTrials);
  s.draws = WholeFrom(j, "draws", 0, kMostJournalTrials);
  s.seed = SeedFrom(j);
  j.at("metric").get_to(s.metric);
  s.rungs = RungsFrom(j);
  s.eta = WholeFrom(j, "eta", 2, 100);
  j.at("train").get_to(s.train);
  s.prune_after = WholeFrom(j, "prune_after", -1, INT64_MAX);
  j.at("gpus").get_to(s.gpus);
  s.gpus_per_trial = static_cast<int>(WholeFrom(j, "gpus_per_trial", 1, 1000));
  s.jobs = static_cast<int>(WholeFrom(j, "jobs", 1, 10'000));
  if (j.contains("on")) j.at("on").get_to(s.on);  // older journals lack it
  return s;
}

SweepTrial::State StateFrom(const std::string& name) {
  for (const SweepTrial::State state :
       {SweepTrial::kStopped, SweepTrial::kDone, SweepTrial::kPruned, SweepTrial::kFailed}) {
    if (name == kStates[state]) return state;
  }
  throw FileError("'", name, "' is no way for a trial to end");
}

UniqueFd OpenLock(const std::string& path, int flags) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | flags, 0644));
  if (!file.open()) throw FileError("cannot write ", path, Reason());
  return file;
}

}  // namespace

double SweepTrial::score() const {
  return scores.empty() ? std::numeric_limits<double>::quiet_NaN() : scores.back();
}

std::string Name(SweepTrial::State state) { return kStates[state]; }

std::pair<std::string, std::string> SplitSet(const std::string& set) {
  int depth = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    depth += (set[i] == '[') - (set[i] == ']');
    if (set[i] == '=' && depth == 0) return {set.substr(0, i), set.substr(i + 1)};
  }
  return {set, ""};
}

nlohmann::json SweepValues(const std::vector<std::string>& sets) {
  nlohmann::json values = nlohmann::json::object();
  for (const std::string& set : sets) {
    const auto [name, text] = SplitSet(set);
    double number = 0;
    if (const nlohmann::json exact = ParsedJson(text); exact.is_number()) {
      values[name] = exact;
    } else if (text.find_first_of("xXpP") == std::string::npos && ReadNumber(text, &number)) {
      values[name] = number;  // "+1" and ".5" are no JSON
    } else {
      values[name] = text;
    }
  }
  return values;
}

void SweepJournal::Create(const std::string& folder, const SweepSettings& settings) {
  const std::string path = PathOf(folder);
  if (FileExists(path))
    throw FileError(path,
                    " exists: there is a sweep in this folder; 'doppio sweep resume' continues it");
  // Written atomically, because a folder without settings would be useless.
  WriteFileAtomically(path, ExactLine(ToJson(settings)) + "\n");
}

SweepJournal::SweepJournal(const std::string& folder, bool writable) : folder_(folder) {
  // Trials run in other working directories, so the path must be absolute.
  char absolute[PATH_MAX];
  if (realpath(folder.c_str(), absolute) != nullptr) folder_ = absolute;
  const std::string path = PathOf(folder_);
  RefusePipe(path, "the journal of a sweep");
  file_ = UniqueFd(open(path.c_str(), (writable ? O_RDWR | O_APPEND : O_RDONLY) | O_CLOEXEC));
  if (!file_.open()) {
    throw FileError("cannot open ", path, Reason(),
                    "; the folder of a sweep is wanted, as 'doppio sweep run' makes it");
  }
  Read();
  if (lines_ == 0) throw FileError(path, " says nothing of a sweep");
}

SweepJournal::Hold::Hold(SweepJournal* journal) : journal_(journal) {
  if (journal_->held_++ > 0) return;
  while (flock(journal_->file_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw FileError("cannot lock ", PathOf(journal_->folder_), Reason());
  }
  journal_->Read();
  // All processes write under the lock, so an incomplete line was left by a dead process.
  if (ftruncate(journal_->file_.get(), journal_->read_bytes_) != 0) {
    throw FileError("cannot write ", PathOf(journal_->folder_), Reason());
  }
}

SweepJournal::Hold::~Hold() {
  if (--journal_->held_ == 0) flock(journal_->file_.get(), LOCK_UN);
}

void SweepJournal::Read() {
  std::string text;
  char part[1 << 16];
  for (;;) {
    const ssize_t count =
        pread(file_.get(), part, sizeof part, read_bytes_ + static_cast<int64_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FileError("cannot read ", PathOf(folder_), Reason());
    if (count == 0) break;
    text.append(part, count);
  }
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++lines_;
    const SourceLoc at{PathOf(folder_), static_cast<int>(lines_)};
    try {
      Apply(text.substr(begin, end - begin));
    } catch (const nlohmann::json::exception& e) {
      throw FileError(at, "this line of the journal is damaged: ", e.what());
    } catch (const FileError& e) {
      throw FileError(at, "this line of the journal is damaged: ", e.message());
    }
  }
  read_bytes_ += static_cast<int64_t>(begin);
}

SweepTrial* SweepJournal::TrialAt(int64_t number) {
  while (static_cast<int64_t>(trials_.size()) <= number) {
    trials_.emplace_back();
    trials_.back().number = static_cast<int64_t>(trials_.size()) - 1;
  }
  return &trials_[number];
}

void SweepJournal::Apply(const std::string& line) {
  const nlohmann::json j = ParseJson(line, "");
  const std::string event = j.at("event").get<std::string>();
  if ((event == "sweep") != (lines_ == 1))
    throw FileError("the settings are to stand in the first line, and only there");
  if (event == "sweep") {
    settings_ = SettingsFrom(j);
    return;
  }
  // Skips events of later versions.
  if (event != "begin" && event != "end") return;
  SweepTrial* trial = TrialAt(WholeFrom(j, "trial", 0, kMostJournalTrials - 1));
  trial->rung = static_cast<int>(WholeFrom(j, "rung", 0, kMostRungs));
  if (event == "begin") {
    trial->state = SweepTrial::kRunning;
    j.at("set").get_to(trial->sets);
    return;
  }
  trial->state = StateFrom(j.at("state").get<std::string>());
  trial->iter = WholeFrom(j, "iter", INT64_MIN, INT64_MAX);
  const nlohmann::json& score = j.at("score");
  trial->scores.resize(trial->rung);
  trial->scores.push_back(score.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                          : score.get<double>());
  trial->seconds += j.at("seconds").get<double>();
  trial->error = j.at("error").get<std::string>();
}

void SweepJournal::Append(const std::string& line) {
  if (!WriteAll(file_.get(), line + "\n") || fsync(file_.get()) != 0)
    throw FileError("cannot write ", PathOf(folder_), Reason());
  Read();
}

void SweepJournal::Begin(int64_t trial, int rung, const std::vector<std::string>& sets) {
  const Hold hold(this);
  Append(ExactLine({{"event", "begin"},
                    {"t", std::time(nullptr)},
                    {"trial", trial},
                    {"rung", rung},
                    {"set", sets},
                    {"values", SweepValues(sets)}}));
}

void SweepJournal::Add(const End& end) {
  const Hold hold(this);
  nlohmann::json j{{"event", "end"},         {"t", std::time(nullptr)}, {"trial", end.trial},
                   {"rung", end.rung},       {"iter", end.iter},        {"state", Name(end.state)},
                   {"seconds", end.seconds}, {"error", end.error},      {"score", nullptr}};
  if (std::isfinite(end.score)) j["score"] = end.score;
  // The message of a child need not be UTF-8.
  Append(JsonText(j, -1));
}

SweepLock::SweepLock(const std::string& folder, double patience_s)
    : own_(OpenLock(folder + "/lock", O_CLOEXEC)) {
  if (flock(own_.get(), LOCK_EX | LOCK_NB) != 0)
    throw FileError("another process runs the trials of ", folder);
  inherited_ = OpenLock(folder + "/trials.lock", 0);
  const auto begin = std::chrono::steady_clock::now();
  bool logged = false;
  while (flock(inherited_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!logged)
      LOG(INFO) << "trials of a killed sweep are still writing their snapshots; waiting for them";
    logged = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (SecondsSince(begin) < patience_s) continue;
    throw FileError("trials that a killed sweep has left in ", folder,
                    " still run; end them first");
  }
}

}  // namespace doppio
