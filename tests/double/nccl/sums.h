// The results of NCCL's collectives.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_SUMS_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_SUMS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio::gpu_double {

enum class NcclKind : int { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter };

// A collective call. All ranks must make the same call.
struct NcclCall {
  NcclKind kind;
  int type, op, root;
  int64_t count;  // as passed to the function

  bool operator==(const NcclCall& other) const {
    return kind == other.kind && type == other.type && op == other.op && root == other.root &&
           count == other.count;
  }
};

// Returns the size of an element; 0 for an unknown type.
int64_t NcclTypeBytes(int type);
std::string NcclName(NcclKind kind);         // e.g. "ncclAllReduce"
std::string Describe(const NcclCall& call);  // e.g. "ncclAllReduce(count 10, type 7, op 0)"

// Return the bytes that rank `rank` of `size` reads and writes; 0 if it does not read or write.
int64_t BytesFrom(const NcclCall& call, int rank, int size);
int64_t BytesTo(const NcclCall& call, int rank, int size);
// Returns true if all ranks get the same result.
bool SameForAll(const NcclCall& call);

// Returns the result of `rank`, BytesTo bytes long; parts[r] is the input of rank r. Reductions add
// the ranks in order. 16-bit elements are added in single precision and rounded once.
std::vector<char> ResultOf(const NcclCall& call, int rank,
                           const std::vector<std::vector<char>>& parts);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_SUMS_H_
