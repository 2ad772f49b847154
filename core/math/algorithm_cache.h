// Which algorithm was the fastest, remembered: measuring takes seconds, and comes out alike every
// time. In memory for a process, in a file for those that follow.
//
// The file is a help only. One that cannot be read, has other content or cannot be written is as
// good as none, and never stops a run.
#ifndef DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_
#define DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace doppio {

// Numbers that mean something to the library that has the algorithms.
using AlgorithmChoice = std::vector<int64_t>;

// For any number of threads and processes.
class AlgorithmCache {
 public:
  // An empty name: memory only. The file is read at the first Find.
  explicit AlgorithmCache(const std::string& file) : file_(file) {}

  // `key` names everything that the choice depends on.
  std::optional<AlgorithmChoice> Find(const std::string& key);
  // Replaces what was there. Choices that others wrote meanwhile stay.
  void Keep(const std::string& key, const AlgorithmChoice& choice);

 private:
  void ReadFileOnce();
  void Write() const;

  const std::string file_;
  std::mutex mutex_;
  bool read_ = false;
  std::map<std::string, AlgorithmChoice> choices_;
};

// doppio/`name` in $XDG_CACHE_HOME or else ~/.cache; empty where neither is known.
std::string UserCacheFile(const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_
