// TensorBoard's event files: scalar values over iterations. The format is documented in
// tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto; proto/event.proto
// has the same field numbers.
#ifndef DOPPIO_TOOLS_RUNS_EVENT_FILE_H_
#define DOPPIO_TOOLS_RUNS_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/runs/append_file.h"

namespace doppio {

// Returns one record: the length and the data, each followed by its masked CRC-32C, all
// little-endian.
std::string EventRecord(const std::string& data);
// Returns the first record of a file. `wall_time` is in seconds since 1970.
std::string FirstRecord(double wall_time);
// Returns a record with one value for each of `tags` at iteration `iter`.
std::string ScalarRecord(double wall_time, int64_t iter,
                         const std::vector<std::pair<std::string, double>>& tags);

// Writes an event file. Each process of a run writes its own file; TensorBoard reads all files of a
// folder.
class EventFile {
 public:
  // Creates FOLDER/events.out.tfevents.SECONDS.HOST.PID. Throws FileError if that fails.
  EventFile(const std::string& folder, double wall_time);

  // Appends one value for each of `tags` at iteration `iter`.
  void Add(double wall_time, int64_t iter,
           const std::vector<std::pair<std::string, double>>& tags) {
    file_.Write(ScalarRecord(wall_time, iter, tags));
  }
  // Marks a restart at iteration `iter`: TensorBoard no longer shows values of this and later
  // iterations from other files of the folder.
  void Restart(double wall_time, int64_t iter);

 private:
  AppendFile file_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_EVENT_FILE_H_
