// Checks one relation on one case.
#ifndef DOPPIO_TESTS_RANDOM_RELATION_RUN_H_
#define DOPPIO_TESTS_RANDOM_RELATION_RUN_H_

#include <cstdint>
#include <string>

#include "tests/random/random_case.h"

namespace doppio {

// The most seconds that a relation may take for one case. A tiny net that takes longer hangs.
constexpr double kMostSeconds = 60;

// Returns what does not hold, or "". An exception does not hold either. `draw` decides what the
// relation draws. `folder` is made for the relation and removed afterwards.
std::string CheckRelation(const std::string& relation, const RandomCase& random_case, uint64_t draw,
                          const std::string& folder);

// Does the same in a child process (child.h), whose crash, or hang for `seconds`, does not hold
// either.
std::string CheckInChild(const std::string& relation, const RandomCase& random_case, uint64_t draw,
                         double seconds = kMostSeconds);

// Returns the kind of a text of CheckRelation or CheckInChild: numbers that differ, an exception,
// an internal error at a place, or the end of the process. A smaller case must fail in the same
// way.
std::string KindOfFailure(const std::string& text);

// A new folder for files of random cases, which the destructor removes.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_RELATION_RUN_H_
