#include "core/math/algorithm_cache.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/file.h"

namespace doppio {
namespace {

using nlohmann::json;

// {"format": 1, "choices": {"<key>": [number, ...]}, "compared": {"<key>": number}}. A key without
// an entry in "compared" has a complete race.
constexpr int kFormat = 1;

std::map<std::string, CachedChoice> Parse(const std::string& text) {
  std::map<std::string, CachedChoice> choices;
  const json file = json::parse(text);
  if (file.at("format").get<int>() != kFormat) return choices;
  const json compared = file.value("compared", json::object());
  for (const auto& item : file.at("choices").items()) {
    choices[item.key()] = {item.value().get<AlgorithmChoice>(),
                           compared.value(item.key(), CachedChoice::kAll)};
  }
  return choices;
}

// Returns the choices in the file. Returns none if the file is missing or invalid, so that the
// choices are measured again.
std::map<std::string, CachedChoice> Load(const std::string& path) {
  try {
    if (!path.empty() && FileExists(path)) return Parse(ReadListedFile(path));
  } catch (const std::exception&) {
    // An invalid file is treated like a missing one.
  }
  return {};
}

}  // namespace

std::optional<CachedChoice> AlgorithmCache::Find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Lookup(key);
}

void AlgorithmCache::Store(const std::string& key, const CachedChoice& choice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  StoreLocked(key, choice);
}

std::optional<CachedChoice> AlgorithmCache::FindOrMeasure(const std::string& key,
                                                          const Measure& measure) {
  std::unique_lock<std::mutex> lock(mutex_);
  measurement_done_.wait(lock, [&] { return measuring_.count(key) == 0; });
  std::optional<CachedChoice> so_far = Lookup(key);
  if (so_far && (so_far->complete() || measured_.count(key) != 0)) return so_far;
  measuring_.insert(key);
  lock.unlock();
  std::optional<CachedChoice> choice;
  std::exception_ptr failure;
  try {
    choice = measure(so_far);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  measuring_.erase(key);
  if (choice) {
    measured_.insert(key);
    StoreLocked(key, *choice);
  }
  measurement_done_.notify_all();
  if (failure) std::rethrow_exception(failure);
  return choice;
}

std::optional<CachedChoice> AlgorithmCache::Lookup(const std::string& key) {
  ReadFileOnce();
  const auto found = choices_.find(key);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

void AlgorithmCache::StoreLocked(const std::string& key, const CachedChoice& choice) {
  choices_[key] = choice;
  Merge(Load(file_));
  read_ = true;
  Write();
}

void AlgorithmCache::ReadFileOnce() {
  if (read_) return;
  read_ = true;
  Merge(Load(file_));
}

void AlgorithmCache::Merge(std::map<std::string, CachedChoice> others) {
  for (auto& other : others) {
    const auto own = choices_.emplace(other).first;
    if (own->second.compared < other.second.compared) own->second = std::move(other.second);
  }
}

void AlgorithmCache::Write() const {
  if (file_.empty()) return;
  json file = {{"format", kFormat}, {"choices", json::object()}};
  for (const auto& item : choices_) {
    file["choices"][item.first] = item.second.choice;
    if (!item.second.complete()) file["compared"][item.first] = item.second.compared;
  }
  try {
    std::filesystem::create_directories(std::filesystem::path(file_).parent_path());
    WriteFileAtomically(file_, file.dump(1) + "\n");
  } catch (const std::exception&) {
    // The file is not writable, e.g. in a read-only home. The next process measures again.
  }
}

std::string UserCacheFile(const std::string& name) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/doppio/" + name;
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.cache/doppio/" + name;
  return "";
}

}  // namespace doppio
