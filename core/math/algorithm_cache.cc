#include "core/math/algorithm_cache.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/file.h"

namespace doppio {
namespace {

using nlohmann::json;

// {"format": 1, "choices": {"<key>": [number, ...]}}
constexpr int kFormat = 1;

std::map<std::string, AlgorithmChoice> Parse(const std::string& text) {
  std::map<std::string, AlgorithmChoice> choices;
  const json file = json::parse(text);
  if (file.at("format").get<int>() != kFormat) return choices;
  for (const auto& item : file.at("choices").items()) {
    choices[item.key()] = item.value().get<AlgorithmChoice>();
  }
  return choices;
}

// Nothing where there is no such file, or none that makes sense: then choices are made anew.
std::map<std::string, AlgorithmChoice> Load(const std::string& path) {
  try {
    if (!path.empty() && FileExists(path)) return Parse(ReadFile(path));
  } catch (const std::exception&) {
    // As good as no file.
  }
  return {};
}

}  // namespace

std::optional<AlgorithmChoice> AlgorithmCache::Find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ReadFileOnce();
  const auto found = choices_.find(key);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

void AlgorithmCache::Keep(const std::string& key, const AlgorithmChoice& choice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  choices_[key] = choice;
  for (const auto& other : Load(file_)) choices_.insert(other);
  read_ = true;
  Write();
}

void AlgorithmCache::ReadFileOnce() {
  if (read_) return;
  read_ = true;
  for (const auto& choice : Load(file_)) choices_.insert(choice);
}

void AlgorithmCache::Write() const {
  if (file_.empty()) return;
  json file = {{"format", kFormat}, {"choices", json::object()}};
  for (const auto& item : choices_) file["choices"][item.first] = item.second;
  try {
    std::filesystem::create_directories(std::filesystem::path(file_).parent_path());
    WriteFileAtomically(file_, file.dump(1) + "\n");
  } catch (const std::exception&) {
    // A read-only home: the next process measures again.
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
