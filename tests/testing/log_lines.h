// The log lines of a test.
#ifndef DOPPIO_TESTS_TESTING_LOG_LINES_H_
#define DOPPIO_TESTS_TESTING_LOG_LINES_H_

#include <glog/logging.h>

#include <string>
#include <vector>

namespace doppio {

// Collects the text of all log lines during its lifetime.
class LogLines : public google::LogSink {
 public:
  LogLines() { google::AddLogSink(this); }
  ~LogLines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const struct tm*,
            const char* message, size_t length) override {
    lines.emplace_back(message, length);
  }
  // Returns the number of lines that contain `text`.
  int Count(const std::string& text) const {
    int count = 0;
    for (const std::string& line : lines) count += line.find(text) != std::string::npos;
    return count;
  }
  std::vector<std::string> lines;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_LOG_LINES_H_
