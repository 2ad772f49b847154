// The double of libnccl.so.2: what a loader finds in it, and what tests ask it.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// Names and addresses. With nccl_fail=old the functions of 2.13 and later are missing.
const std::vector<std::pair<const char*, void*>>& NcclFunctions();

// The number of cores that the thread could use that last began to join a communicator; 0 before.
// NCCL's own threads would inherit them.
int CoresAtLastJoin();
// Communicators of this process that are neither destroyed nor aborted, and those aborted so far.
int LiveCommunicators();
int AbortedCommunicators();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_FUNCTIONS_H_
