// What NCCL's collectives compute.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_SUMS_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_SUMS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio::gpu_double {

enum class NcclKind : int { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter };

// A collective, which all ranks must call alike.
struct NcclCall {
  NcclKind kind;
  int type, op, root;
  int64_t count;  // as given to the function

  bool operator==(const NcclCall& other) const {
    return kind == other.kind && type == other.type && op == other.op && root == other.root &&
           count == other.count;
  }
};

// 0 for a type that does not exist.
int64_t NcclTypeBytes(int type);
std::string NcclName(NcclKind kind);         // "ncclAllReduce"
std::string Describe(const NcclCall& call);  // "ncclAllReduce(count 10, type 7, op 0)"

// What rank `rank` of `size` reads and writes; 0 where it does neither.
int64_t BytesFrom(const NcclCall& call, int rank, int size);
int64_t BytesTo(const NcclCall& call, int rank, int size);
// Returns true when all ranks get the same.
bool SameForAll(const NcclCall& call);

// What `rank` gets, of BytesTo bytes; parts[r] is what rank r gives. Reductions go through the
// ranks in their order; 16-bit elements are added in single precision and rounded once.
std::vector<char> ResultOf(const NcclCall& call, int rank,
                           const std::vector<std::vector<char>>& parts);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_SUMS_H_
