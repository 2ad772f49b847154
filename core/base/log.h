// Log lines in glog's format, which parsers of Caffe's logs understand. Lines go to standard error,
// and to a file only while a LogFile exists. Results of a command go to standard output.
#ifndef DOPPIO_CORE_BASE_LOG_H_
#define DOPPIO_CORE_BASE_LOG_H_

#include <glog/logging.h>

#include <memory>
#include <string>

namespace doppio {

// Initialises logging. Call it once, first in main. Lines look like "I1120 18:12:53.123456  4711
// trainer.cc:239] text". The environment variable GLOG_minloglevel is honoured.
void InitLog(const char* program);

// Restores the logging flags that InitLog set, in case the command line changed them. Does not
// change GLOG_minloglevel.
void KeepLogFlags();

// From now on, standard error shows only warnings and errors.
void ShowOnlyWarnings();

// While a LogFile exists, lines are also appended to a file and flushed one by one.
// ShowOnlyWarnings does not affect the file.
class LogFile {
 public:
  // Throws FileError if the file cannot be opened for writing. Lines that a full disk rejects later
  // are lost without an error. If `quiet_threads` is true, the file also gets the lines that a
  // QuietLog keeps from standard error.
  explicit LogFile(const std::string& path, bool quiet_threads = false);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends an error that standard error shows in another form.
  void AddError(const std::string& text);

 private:
  class Sink;
  std::unique_ptr<Sink> sink_;
};

// While a QuietLog exists, the thread that created it logs only errors. Used by replicas, which
// would repeat the messages of rank 0.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_LOG_H_
