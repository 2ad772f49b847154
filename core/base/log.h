// Log lines: glog's, because its format is the one that parsers of Caffe's logs know.
// They go to standard error only; results of a command go to standard output.
#ifndef DOPPIO_CORE_BASE_LOG_H_
#define DOPPIO_CORE_BASE_LOG_H_

#include <glog/logging.h>

namespace doppio {

// Call once, first in main. Lines look like "I1120 18:12:53.123456  4711 trainer.cc:239] text".
// Never writes a file. GLOG_minloglevel is honoured.
void InitLog(const char* program);

// Undoes what flags of the command line have changed of that; GLOG_minloglevel stays.
void KeepLogFlags();

// While it lives, only errors of the thread that made it are shown: replicas would say everything again.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_LOG_H_
