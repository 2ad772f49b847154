#include "core/base/log.h"

#include <glog/logging.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <build_facts.h>
#include "core/base/error.h"
#include "core/base/library_version.h"

namespace doppio {
namespace {

thread_local int quiet = 0;

// The lowest severity that standard error shows.
google::LogSeverity stderr_min_severity = google::GLOG_INFO;

// Writes the same lines as glog's own log files. Unlike glog, it filters lines by thread
// (QuietLog).
class FileSink : public google::LogSink {
 public:
  FileSink(std::FILE* file, const google::LogSeverity* min_severity, bool quiet_threads)
      : file_(file), min_severity_(min_severity), quiet_threads_(quiet_threads) {}

  void send(google::LogSeverity severity, const char* /*path*/, const char* file, int line,
            const google::LogMessageTime& time, const char* message, size_t length) override {
    if (quiet > 0 && !quiet_threads_ && severity < google::GLOG_ERROR) return;
    if (severity < *min_severity_) return;
    // glog's own text for sinks starts with the year, which parsers of Caffe's logs reject.
    char prefix[64];
    // glog's microseconds are negative before 1970.
    const int usec = (static_cast<int>(time.usec()) + 1'000'000) % 1'000'000;
    std::snprintf(prefix, sizeof prefix, "%c%02d%02d %02d:%02d:%02d.%06d %5ld ",
                  google::GetLogSeverityName(severity)[0], 1 + time.month(), time.day(),
                  time.hour(), time.min(), time.sec(), usec, syscall(SYS_gettid));
    const std::string text =
        StrCat(prefix, file, ":", line, "] ", std::string(message, length), "\n");
    std::fwrite(text.data(), 1, text.size(), file_);
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
  const google::LogSeverity* min_severity_;
  const bool quiet_threads_;
};

constexpr google::LogSeverity kAll = google::GLOG_INFO;

DOPPIO_REGISTER(Libraries, "glog", {DOPPIO_GLOG_VERSION});

}  // namespace

void InitLog(const char* program) {
  KeepLogFlags();
  google::InitGoogleLogging(program);
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity)
    google::SetLogDestination(severity, "");
  static FileSink sink(stderr, &stderr_min_severity, false);
  google::AddLogSink(&sink);
}

void KeepLogFlags() {
  FLAGS_log_year_in_prefix = false;  // Caffe's format, whose parsers reject the year
  FLAGS_logtostderr = FLAGS_alsologtostderr = false;  // the sink writes to standard error instead
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
}

void ShowOnlyWarnings() { stderr_min_severity = google::GLOG_WARNING; }

class LogFile::Sink {
 public:
  Sink(const std::string& path, bool quiet_threads)
      : file_(std::fopen(path.c_str(), "ae")), sink_(file_, &kAll, quiet_threads) {
    if (file_ == nullptr) throw FileError("cannot write '", path, "': ", std::strerror(errno));
    google::AddLogSink(&sink_);
  }
  ~Sink() {
    google::RemoveLogSink(&sink_);
    std::fclose(file_);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  google::LogSink* get() { return &sink_; }

 private:
  std::FILE* file_;
  FileSink sink_;
};

LogFile::LogFile(const std::string& path, bool quiet_threads)
    : sink_(std::make_unique<Sink>(path, quiet_threads)) {}
LogFile::~LogFile() = default;
void LogFile::AddError(const std::string& text) {
  LOG_TO_SINK_BUT_NOT_TO_LOGFILE(sink_->get(), ERROR) << text;
}

QuietLog::QuietLog() { ++quiet; }
QuietLog::~QuietLog() { --quiet; }

}  // namespace doppio
