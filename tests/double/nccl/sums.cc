#include "tests/double/nccl/sums.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/half.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"
#include "tests/double/nccl/api.h"

namespace doppio::gpu_double {
namespace {

// Combines two values in type A, the type in which sums are computed.
template <class A>
A Combine(int op, A a, A b) {
  switch (op) {
    case kNcclProd:
      return static_cast<A>(a * b);
    case kNcclMax:
      return std::max(a, b);
    case kNcclMin:
      return std::min(a, b);
    default:
      return static_cast<A>(a + b);
  }
}

// Reduces elements [first, first + count) of all parts.
template <class T, class A = T>
std::vector<char> Reduce(int op, int64_t first, int64_t count,
                         const std::vector<std::vector<char>>& parts) {
  // A planted mistake leaves out the last rank.
  const size_t ranks = parts.size() - (parts.size() > 1 && Planted("nccl-wrong-rank") ? 1 : 0);
  std::vector<char> result(static_cast<size_t>(count) * sizeof(T));
  T* to = reinterpret_cast<T*>(result.data());
  for (int64_t i = 0; i < count; ++i) {
    A sum{};
    for (size_t r = 0; r < ranks; ++r) {
      const A part = static_cast<A>(reinterpret_cast<const T*>(parts[r].data())[first + i]);
      sum = r == 0 ? part : Combine(op, sum, part);
    }
    if (op == kNcclAvg) sum = static_cast<A>(sum / static_cast<A>(parts.size()));
    to[i] = static_cast<T>(sum);
  }
  return result;
}

std::vector<char> Reduce(const NcclCall& call, int64_t first,
                         const std::vector<std::vector<char>>& parts) {
  switch (call.type) {
    case kNcclInt8:
      return Reduce<int8_t>(call.op, first, call.count, parts);
    case kNcclUint8:
      return Reduce<uint8_t>(call.op, first, call.count, parts);
    case kNcclInt32:
      return Reduce<int32_t>(call.op, first, call.count, parts);
    case kNcclUint32:
      return Reduce<uint32_t>(call.op, first, call.count, parts);
    case kNcclInt64:
      return Reduce<int64_t>(call.op, first, call.count, parts);
    case kNcclUint64:
      return Reduce<uint64_t>(call.op, first, call.count, parts);
    case kNcclFloat16:
      return Reduce<Half, float>(call.op, first, call.count, parts);
    case kNcclBfloat16:
      return Reduce<BFloat16, float>(call.op, first, call.count, parts);
    case kNcclFloat64:
      return Reduce<double>(call.op, first, call.count, parts);
    default:
      return Reduce<float>(call.op, first, call.count, parts);
  }
}

bool Reduces(NcclKind kind) { return kind != NcclKind::kBroadcast && kind != NcclKind::kAllGather; }

}  // namespace

int64_t NcclTypeBytes(int type) {
  constexpr int64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < 0 || type >= 10 ? 0 : kBytes[type];
}

std::string NcclName(NcclKind kind) {
  constexpr const char* kNames[] = {"ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclAllGather",
                                    "ncclReduceScatter"};
  return kNames[static_cast<int>(kind)];
}

std::string Describe(const NcclCall& call) {
  std::string text = NcclName(call.kind) + "(count " + std::to_string(call.count) + ", type " +
                     std::to_string(call.type);
  if (Reduces(call.kind)) text += ", op " + std::to_string(call.op);
  if (call.kind == NcclKind::kBroadcast || call.kind == NcclKind::kReduce)
    text += ", root " + std::to_string(call.root);
  return text + ")";
}

int64_t BytesFrom(const NcclCall& call, int rank, int size) {
  const int64_t bytes = call.count * NcclTypeBytes(call.type);
  if (call.kind == NcclKind::kBroadcast) return rank == call.root ? bytes : 0;
  return call.kind == NcclKind::kReduceScatter ? bytes * size : bytes;
}

int64_t BytesTo(const NcclCall& call, int rank, int size) {
  const int64_t bytes = call.count * NcclTypeBytes(call.type);
  if (call.kind == NcclKind::kReduce) return rank == call.root ? bytes : 0;
  return call.kind == NcclKind::kAllGather ? bytes * size : bytes;
}

bool SameForAll(const NcclCall& call) {
  return call.kind != NcclKind::kReduce && call.kind != NcclKind::kReduceScatter;
}

std::vector<char> ResultOf(const NcclCall& call, int rank,
                           const std::vector<std::vector<char>>& parts) {
  switch (call.kind) {
    case NcclKind::kBroadcast:
      return parts[static_cast<size_t>(call.root)];
    case NcclKind::kAllGather: {
      std::vector<char> all;
      for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
      return all;
    }
    case NcclKind::kReduceScatter:
      return Reduce(call, rank * call.count, parts);
    case NcclKind::kReduce:
      if (rank != call.root) return {};
      return Reduce(call, 0, parts);
    default:
      return Reduce(call, 0, parts);
  }
}

}  // namespace doppio::gpu_double
