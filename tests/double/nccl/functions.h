// The test double of libnccl.so.2: the functions that a loader finds in it, and queries for tests.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// Returns names and addresses. With nccl_fail=old, the functions of version 2.13 and later are
// missing.
const std::vector<std::pair<const char*, void*>>& NcclFunctions();

// Returns the number of cores available to the thread that last began to join a communicator; 0 if
// there was none. NCCL's own threads would inherit these cores.
int CoresAtLastJoin();
// Return the number of communicators of this process that are neither destroyed nor aborted, and
// the number of those aborted so far.
int LiveCommunicators();
int AbortedCommunicators();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_FUNCTIONS_H_
