// Tracks the live handles and descriptors of a library, to detect those that were never created or
// are already destroyed.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_LIVE_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_LIVE_H_

#include <mutex>
#include <set>
#include <string>

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {

// The live objects of pointer type P. Thread-safe.
template <class P>
class LiveObjects {
 public:
  static void Add(P object) {
    const std::lock_guard<std::mutex> lock(The().mutex_);
    The().objects_.insert(object);
  }
  // Fault("handle") unless the object is alive.
  static void Check(P object, const std::string& function) {
    const std::lock_guard<std::mutex> lock(The().mutex_);
    if (The().objects_.count(object) == 0) Missing(function);
  }
  static void Remove(P object, const std::string& function) {
    const std::lock_guard<std::mutex> lock(The().mutex_);
    if (The().objects_.erase(object) == 0) Missing(function);
  }

 private:
  static LiveObjects& The() {
    static auto* const live =
        new LiveObjects;  // never destroyed, because threads may outlive main()
    return *live;
  }
  [[noreturn]] static void Missing(const std::string& function) {
    Fault("handle", function + ": the handle or descriptor does not exist");
  }

  std::mutex mutex_;
  std::set<P> objects_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_LIVE_H_
