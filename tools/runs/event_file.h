// TensorBoard's event files: numbers over iterations. Format: the documentation of
// tensorflow/core/lib/io/record_writer.h and of tensorflow/core/util/event.proto, whose field
// numbers proto/event.proto has.
#ifndef DOPPIO_TOOLS_RUNS_EVENT_FILE_H_
#define DOPPIO_TOOLS_RUNS_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/append_file.h"

namespace doppio {

// One record: length and data, each followed by its masked CRC-32C; little-endian.
std::string EventRecord(const std::string& data);
// The first record of a file.
std::string FirstRecord(double wall_time);
// Values of `tags` at an iteration.
std::string ScalarRecord(double wall_time, int64_t iter,
                         const std::vector<std::pair<std::string, double>>& tags);

// A file for each process of a run: TensorBoard reads all of a folder.
class EventFile {
 public:
  // Makes FOLDER/events.out.tfevents.SECONDS.HOST.PID. FileError where it cannot be written.
  EventFile(const std::string& folder, double wall_time);

  void Add(double wall_time, int64_t iter,
           const std::vector<std::pair<std::string, double>>& tags) {
    file_.Write(ScalarRecord(wall_time, iter, tags));
  }
  // What other files of the folder hold of this iteration and later ones is not shown any more.
  void Restart(double wall_time, int64_t iter);

 private:
  AppendFile file_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_EVENT_FILE_H_
