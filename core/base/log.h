// Log lines: glog's, because its format is the one that parsers of Caffe's logs know.
// They go to standard error, and to a file only where one was asked for (LogFile); results of a
// command go to standard output.
#ifndef DOPPIO_CORE_BASE_LOG_H_
#define DOPPIO_CORE_BASE_LOG_H_

#include <glog/logging.h>

#include <memory>
#include <string>

namespace doppio {

// Call once, first in main. Lines look like "I1120 18:12:53.123456  4711 trainer.cc:239] text".
// GLOG_minloglevel is honoured.
void InitLog(const char* program);

// Undoes what flags of the command line have changed of that; GLOG_minloglevel stays.
void KeepLogFlags();

// Standard error shows only warnings and errors from now on.
void ShowOnlyWarnings();

// While it lives, lines go to the end of a file as well, each at once: those that standard error
// would show without ShowOnlyWarnings.
class LogFile {
 public:
  // FileError where it cannot be written. What a full disk does not take later is lost.
  explicit LogFile(const std::string& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Adds an error that standard error shows in another form.
  void AddError(const std::string& text);

 private:
  class Sink;
  std::unique_ptr<Sink> sink_;
};

// While it lives, only errors of the thread that made it are shown: replicas would say everything
// again.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_LOG_H_
