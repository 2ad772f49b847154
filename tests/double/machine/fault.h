// Reports an error that a check has found.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_FAULT_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_FAULT_H_

#include <string>

namespace doppio::gpu_double {

// Writes "double: CHECK: text" to standard error and ends the process with kFaultStatus, without
// running destructors. `check` is one word that names the check, such as "race", "bounds",
// "host-access", "alignment", "divergence" or "workspace". May be called from any thread and from
// the continuation of a signal handler.
[[noreturn]] void Fault(const std::string& check, const std::string& text);

constexpr int kFaultStatus = 86;

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_FAULT_H_
