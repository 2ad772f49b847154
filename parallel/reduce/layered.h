// A communicator of two layers. The ranks of a node (a process or a machine) exchange inside the
// node, and the first rank of each node exchanges between nodes. A slow link between nodes is then
// used once per node instead of once per rank.
#ifndef DOPPIO_PARALLEL_REDUCE_LAYERED_H_
#define DOPPIO_PARALLEL_REDUCE_LAYERED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/run/communicator.h"

namespace doppio {

// The place of a rank: its node, and its rank inside the node, counted from 0.
struct RankPlace {
  int node = 0, inside = 0;
};

// Returns the places of all ranks, in the order of their nodes. Nodes may have different numbers of
// ranks.
std::vector<RankPlace> PlacesByNode(const std::vector<int>& ranks_of_nodes);

// AllReduce sums inside each node, then between the first ranks, and then broadcasts inside each
// node, so all ranks get the same bits. 16-bit sums are rounded after each layer.
class Layered : public Communicator {
 public:
  // The communicator of `rank`; `places` holds all ranks. `inside` is the communicator of this
  // rank's node. `across` is the one between nodes on the first rank of a node, else null. Both
  // work on memory of the same device and must outlive this object.
  Layered(int rank, std::vector<RankPlace> places, Communicator* inside, Communicator* across);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(places_.size()); }
  void AllReduce(void* data, int64_t count, DType dtype) override;
  void Broadcast(void* data, int64_t bytes, int root) override;
  void Barrier() override;
  void SetBucket(int64_t bucket) override;
  void ExchangeAfterCompute(int64_t bucket) override;
  // Aborts both layers. A rank that learns of an abort in one layer passes it to the other.
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
