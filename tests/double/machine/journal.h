// What the process asked of the machine, in the order of the host's calls, and what it counted.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_JOURNAL_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_JOURNAL_H_

#include <string>

#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {

// With the setting counters=FILE, appends one line of JSON to FILE:
//   {"call": KIND, "what": WHAT, "stream": STREAM}
// KIND is "kernel", "library", "upload", "download", "copy", "clear" or "other" for work that is
// put on a stream, "graph" for the launch of a graph (WHAT counts its nodes: "12 kernels, 3
// others"), and "wait" where the host waits for work that is not done (WHAT is the function that
// waits). Calls that are captured are not noted. Does nothing without the setting.
//
// When the process ends with exit(), the last line is
//   {"counters": {NAME: COUNT, ...}, "kernels": {NAME: {"runs": COUNT, "bytes": COUNT}, ...}}
// with the names of Counters. Thread-safe; replaces FILE at the first call.
void NoteCall(const std::string& kind, const std::string& what, const std::string& stream);

// KIND of the task.
const char* CallKind(const Task& task);
// WHAT of a graph.
std::string GraphText(const Plan& plan);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_JOURNAL_H_
