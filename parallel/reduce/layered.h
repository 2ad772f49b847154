// Ranks in two layers: those of a node (a process, a machine) talk inside it, and the first rank of
// each node talks for it across nodes. What is slow between nodes is paid once a node instead of
// once a rank.
#ifndef DOPPIO_PARALLEL_REDUCE_LAYERED_H_
#define DOPPIO_PARALLEL_REDUCE_LAYERED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/run/communicator.h"

namespace doppio {

// Where a rank is: its node's rank across, and its own inside. The ranks inside a node are 0, 1, 2
// ...
struct RankPlace {
  int node = 0, inside = 0;
};

// Ranks in the order of their nodes, which may have different numbers of them.
std::vector<RankPlace> PlacesByNode(const std::vector<int>& ranks_of_nodes);

// A sum is made inside each node, then across, and what the first ranks have is broadcast inside;
// so all ranks have the same bits. 16-bit numbers are rounded after each layer.
class Layered : public Communicator {
 public:
  // The end of `rank`, of all ranks whose places are given. `inside` and, on a node's first rank
  // alone, `across` (else null) are its ends there, in memory of the same device; they outlive
  // this.
  Layered(int rank, std::vector<RankPlace> places, Communicator* inside, Communicator* across);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(places_.size()); }
  void AllReduce(void* data, int64_t count, DType dtype) override;
  void Broadcast(void* data, int64_t bytes, int root) override;
  void Barrier() override;
  void NoteBucket(int64_t bucket) override;
  void Follow(int64_t bucket) override;
  // In both layers; whoever hears of it in one tells the other.
  void Abort(const std::string& why) override;

 private:
  template <class F>
  void InLayers(const F& exchange);

  const int rank_;
  const std::vector<RankPlace> places_;
  Communicator* const inside_;
  Communicator* const across_;
  const bool one_node_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_LAYERED_H_
