#include "tools/runs/run_status.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/content/parsed_json.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "tools/cli/json_text.h"

namespace doppio {
namespace {

using nlohmann::json;

constexpr auto kHeartbeat = std::chrono::seconds(2);

void WriteObject(const std::string& path, const json& object) {
  WriteFileAtomically(path, JsonText(object, 1) + "\n");
}

json TextOrNull(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

// `best` is the best state in run.json, or null.
json ExitJson(const RunExit& exit, const json& best) {
  return {{"code", exit.code},
          {"reason", exit.reason},
          {"iter", exit.iter},
          {"error", TextOrNull(exit.error)},
          {"resume_command", TextOrNull(exit.resume_command)},
          {"seconds", exit.seconds},
          {"best", best}};
}

}  // namespace

void RunHeartbeat::AddTo(json* run, double now) {
  (*run)["heartbeat"] = now;
  (*run)["seconds"] = seconds_before + std::max(0.0, now - begun);  // the clock may be set back
  if (images > 0 && work_seconds > 0)
    (*run)["images_per_s"] = static_cast<double>(images) / work_seconds;
  images = 0;
  work_seconds = 0;
}

RunStatus::RunStatus(const std::string& folder, const json& run, const RunHeartbeat& beat)
    : folder_(folder), run_(run), beat_(beat) {
  Write();
  heart_ = std::thread([this] { Beat(); });
}

RunStatus::~RunStatus() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  stop_.notify_all();
  heart_.join();
}

void RunStatus::Write() {
  const std::lock_guard<std::mutex> alone(writing_);
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    beat_.AddTo(&run_, SecondsSinceEpoch());
    text = JsonText(run_, 1) + "\n";
  }
  WriteFileAtomically(folder_ + "/run.json", text);
}

void RunStatus::Beat() {
  bool failed = false;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (stop_.wait_for(lock, kHeartbeat, [this] { return ended_; })) return;
    }
    try {
      Write();
      failed = false;
    } catch (const FileError& e) {
      if (!failed) LOG(WARNING) << e.what();
      failed = true;
    }
  }
}

void RunStatus::Count(const Progress& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  beat_.images += progress.images;
  beat_.work_seconds += progress.seconds;
  run_["iter"] = progress.iteration;
}

void RunStatus::Set(const json& fields) {
  const std::lock_guard<std::mutex> lock(mutex_);
  run_.update(fields);
}

int64_t RunStatus::iteration() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return run_.value("iter", int64_t{0});
}

void RunStatus::End(RunExit exit, const std::string& status) {
  json best;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    exit.seconds = SecondsSinceEpoch() - beat_.begun;
    best = run_.value("best", json(nullptr));
  }
  // Written before the status, so that a reader who sees the status finds exit.json.
  WriteObject(folder_ + "/exit.json", ExitJson(exit, best));
  Set({{"iter", exit.iter}, {"status", status}});
  Write();
}

void RecordLostRun(const std::string& path, const Error& failure) {
  if (!FileExists(path + "/run.json") || FileExists(path + "/exit.json")) return;
  json run = ParsedJson(ReadListedFile(path + "/run.json"));
  if (!run.is_object() || run["status"] != "running") return;
  const auto field = [&](const char* name) { return run.contains(name) ? run[name] : json(); };
  const double now = SecondsSinceEpoch();
  const json started = field("started");
  const double seconds = now - (started.is_number() ? started.get<double>() : now);
  json exit = ExitJson({static_cast<int>(failure.code()), "failed", 0, failure.what(), "", seconds},
                       field("best"));
  exit["iter"] = field("iter");
  WriteObject(path + "/exit.json", exit);
  run["status"] = "failed";
  WriteObject(path + "/run.json", run);
}

}  // namespace doppio
