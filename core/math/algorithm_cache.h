// Remembers which of several algorithms was fastest. Measuring takes seconds, and repeating it
// gives the same answer. Choices are kept in memory for this process and in a file for later
// processes.
//
// The file is optional. A file that is unreadable, invalid or not writable is ignored and never
// stops a run.
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

// Identifies an algorithm. Only the library that provides the algorithms interprets the numbers.
using AlgorithmChoice = std::vector<int64_t>;

// The fastest of the algorithms compared so far.
struct CachedChoice {
  static constexpr int64_t kAll = INT64_MAX;

  AlgorithmChoice choice;
  // Number of candidates compared, in order; kAll after a complete race. A race that was cut short
  // continues with the next candidate in another process, and a preliminary choice between
  // candidates whose own races were cut short (cudnn_candidates.h) is made again.
  int64_t compared = kAll;

  bool complete() const { return compared == kAll; }
};

// Thread-safe. Several processes may share the file.
class AlgorithmCache {
 public:
  // `file` may be empty to keep choices only in memory. The file is read by the first Find or
  // FindOrMeasure.
  explicit AlgorithmCache(const std::string& file) : file_(file) {}

  // Returns the choice for `key`, or nullopt. `key` must name everything that the choice depends
  // on.
  std::optional<CachedChoice> Find(const std::string& key);
  // Stores a choice and writes the file. Merges choices that other processes wrote to the file in
  // the meantime; for the same key, the choice with more compared candidates wins.
  void Store(const std::string& key, const CachedChoice& choice);

  // Measures the algorithms for a key. Returns nullopt if this is not possible.
  using Measure =
      std::function<std::optional<CachedChoice>(const std::optional<CachedChoice>& so_far)>;
  // Returns the stored choice if it is complete or was measured by this process. Otherwise returns
  // the result of `measure`, called with the stored choice so far, and stores this result unless it
  // is nullopt. Only one thread measures a key; other threads that request the same key block until
  // it has finished. `measure` may itself request other keys whose measurements request none.
  // Rethrows what `measure` throws.
  std::optional<CachedChoice> FindOrMeasure(const std::string& key, const Measure& measure);

 private:
  void ReadFileOnce();
  void Merge(std::map<std::string, CachedChoice> others);
  void Write() const;
  std::optional<CachedChoice> Lookup(const std::string& key);
  void StoreLocked(const std::string& key, const CachedChoice& choice);

  const std::string file_;
  std::mutex mutex_;
  bool read_ = false;
  std::map<std::string, CachedChoice> choices_;
  std::condition_variable measurement_done_;
  // Keys being measured, and keys measured by this process.
  std::set<std::string> measuring_, measured_;
};

// Returns the path of doppio/`name` in $XDG_CACHE_HOME, or else in ~/.cache. Returns "" if neither
// is known.
std::string UserCacheFile(const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_ALGORITHM_CACHE_H_
