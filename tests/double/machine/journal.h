// A log of the calls that the process makes to the machine, in host order, and of the counters.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_JOURNAL_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_JOURNAL_H_

#include <string>

#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {

// Appends one line of JSON to FILE if the setting counters=FILE is given; otherwise does nothing:
//   {"call": KIND, "what": WHAT, "stream": STREAM}
// KIND is "kernel", "library", "upload", "download", "copy", "clear" or "other" for work put on a
// stream. KIND is "graph" for the launch of a graph, and WHAT then counts its nodes: "12 kernels, 3
// others". KIND is "wait" if the host waits for unfinished work, and WHAT is then the waiting
// function. Captured calls are not logged.
//
// When the process ends with exit(), a last line is appended with the names of Counters:
//   {"counters": {NAME: COUNT, ...}, "kernels": {NAME: {"runs": COUNT, "bytes": COUNT}, ...}}
// The first call replaces FILE. Thread-safe.
void NoteCall(const std::string& kind, const std::string& what, const std::string& stream);

// Returns the KIND of a task.
const char* CallKind(const Task& task);
// Returns the WHAT of a graph.
std::string GraphText(const Plan& plan);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_JOURNAL_H_
