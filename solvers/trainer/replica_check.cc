#include "solvers/trainer/replica_check.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "solvers/update/field_check.h"

namespace doppio {
namespace {

uint32_t Checksum(Device* device, const std::vector<Tensor>& tensors) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  std::vector<char> piece;
  uint32_t sum = 0;
  for (const Tensor& tensor : tensors) {
    for (int64_t begin = 0; begin < tensor.bytes(); begin += kPiece) {
      const int64_t count = std::min(kPiece, tensor.bytes() - begin);
      piece.resize(count);
      device->CopyToHost(piece.data(), static_cast<const char*>(tensor.raw) + begin, count);
      sum = Crc32c(piece.data(), piece.size(), sum);
    }
  }
  return sum;
}

}  // namespace

void CheckReplicas(const World& world, Device* device, const std::vector<Tensor>& tensors,
                   int64_t iteration) {
  const uint32_t own = Checksum(device, tensors);
  uint32_t root = own;
  world.control().Broadcast(&root, sizeof root, 0);
  std::vector<double> differs(world.size(), 0);
  differs[world.rank()] = own != root;
  world.control().AllReduce(differs.data(), world.size(), DType::kFloat64);
  std::vector<std::string> ranks;
  for (size_t r = 0; r < differs.size(); ++r) {
    if (differs[r] > 0) ranks.push_back(std::to_string(r));
  }
  if (ranks.empty()) return;
  throw PeerError(
      "after iteration ", iteration, " the weights or the history of rank(s) ", JoinList(ranks),
      " differ from those of rank 0; resume from an earlier snapshot (--check_replicas)");
}

}  // namespace doppio
