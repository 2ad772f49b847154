// Random nets cause many warnings.
#ifndef DOPPIO_TESTS_RANDOM_SILENT_LOG_H_
#define DOPPIO_TESTS_RANDOM_SILENT_LOG_H_

#include "core/base/log.h"

namespace doppio {

// While a SilentLog exists, the process logs only fatal errors.
class SilentLog {
 public:
  SilentLog() : before_(FLAGS_minloglevel) { FLAGS_minloglevel = google::GLOG_FATAL; }
  ~SilentLog() { FLAGS_minloglevel = before_; }
  SilentLog(const SilentLog&) = delete;
  SilentLog& operator=(const SilentLog&) = delete;

 private:
  const int before_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_SILENT_LOG_H_
