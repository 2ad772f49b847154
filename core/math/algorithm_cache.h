// Which algorithm was the fastest, remembered: measuring takes seconds, and comes out alike every
// time. In memory for a process, in a file for those that follow.
//
// The file is a help only. One that cannot be read, has other content or cannot be written is as
// good as none, and never stops a run.
#ifndef DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_
#define DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace doppio {

// Numbers that mean something to the library that has the algorithms.
using AlgorithmChoice = std::vector<int64_t>;

// The fastest of those that were compared.
struct KeptChoice {
  static constexpr int64_t kAll = INT64_MAX;

  AlgorithmChoice choice;
  // How many of the candidates, in their order, were looked at: a race that was cut short goes on
  // with the next one in another process.
  int64_t compared = kAll;

  bool complete() const { return compared == kAll; }
};

// For any number of threads and processes.
class AlgorithmCache {
 public:
  // An empty name: memory only. The file is read at the first Find.
  explicit AlgorithmCache(const std::string& file) : file_(file) {}

  // `key` names everything that the choice depends on.
  std::optional<KeptChoice> Find(const std::string& key);
  // Replaces what was there. Choices that others wrote meanwhile stay, of the same key the one for
  // which more was compared.
  void Keep(const std::string& key, const KeptChoice& choice);

  // What is kept when it is complete or was measured by this process; else what `measure` returns,
  // given what is kept so far. Nothing is kept when it returns nothing. One thread measures a key;
  // others that ask for it wait for its choice. `measure` may ask for keys whose measurements ask
  // for none.
  using Measure = std::function<std::optional<KeptChoice>(const std::optional<KeptChoice>& so_far)>;
  std::optional<KeptChoice> FindOrMeasure(const std::string& key, const Measure& measure);

 private:
  void ReadFileOnce();
  void Merge(std::map<std::string, KeptChoice> others);
  void Write() const;
  std::optional<KeptChoice> Kept(const std::string& key);
  void KeepLocked(const std::string& key, const KeptChoice& choice);

  const std::string file_;
  std::mutex mutex_;
  bool read_ = false;
  std::map<std::string, KeptChoice> choices_;
  std::condition_variable measured_one_;
  std::set<std::string> measuring_, measured_;  // by this process
};

// doppio/`name` in $XDG_CACHE_HOME or else ~/.cache; empty where neither is known.
std::string UserCacheFile(const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_
