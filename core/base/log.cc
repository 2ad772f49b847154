#include "core/base/log.h"

#include <glog/logging.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace doppio {
namespace {

thread_local int quiet = 0;

// Writes what glog itself would write to standard error, but knows the thread.
class StandardError : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char* /*path*/, const char* file, int line,
            const google::LogMessageTime& time, const char* message, size_t length) override {
    if (quiet > 0 && severity < google::GLOG_ERROR) return;
    // glog's own text for sinks has the year in front, which old parsers reject.
    char prefix[64];
    std::snprintf(prefix, sizeof prefix, "%c%02d%02d %02d:%02d:%02d.%06d %5ld ", google::GetLogSeverityName(severity)[0],
                  1 + time.month(), time.day(), time.hour(), time.min(), time.sec(), static_cast<int>(time.usec()),
                  syscall(SYS_gettid));
    const std::string text = prefix + std::string(file) + ":" + std::to_string(line) + "] " + std::string(message, length) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }
};

}  // namespace

void InitLog(const char* program) {
  KeepLogFlags();
  google::InitGoogleLogging(program);
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) google::SetLogDestination(severity, "");
  static StandardError sink;
  google::AddLogSink(&sink);
}

void KeepLogFlags() {
  FLAGS_log_year_in_prefix = false;  // the classic form; old parsers reject the year
  FLAGS_logtostderr = FLAGS_alsologtostderr = false;   // the sink writes there
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
}

QuietLog::QuietLog() { ++quiet; }
QuietLog::~QuietLog() { --quiet; }

}  // namespace doppio
