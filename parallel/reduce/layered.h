// A communicator of two layers. The ranks of a node (a process or a machine) exchange inside the
// node, and nodes exchange with each other, so that each number crosses the slow link between nodes
// once per node instead of once per rank.
#ifndef DOPPIO_PARALLEL_REDUCE_LAYERED_H_
#define DOPPIO_PARALLEL_REDUCE_LAYERED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "parallel/reduce/task_thread.h"

namespace doppio {

// The place of a rank: its node, and its rank inside the node, counted from 0.
struct RankPlace {
  int node = 0, inside = 0;
};

// Returns the places of all ranks, in the order of their nodes. Nodes may have different numbers of
// ranks.
std::vector<RankPlace> PlacesByNode(const std::vector<int>& ranks_of_nodes);

// Selects the ranks that exchange with other nodes.
enum class Across {
  kFirst,  // the first rank of each node: AllReduce sums inside, across, and broadcasts inside
  // All ranks, each with the ranks that have its place in the other nodes, which must have as many
  // ranks. AllReduce is a reduce-scatter inside, an all-reduce of each share across, and an
  // all-gather inside. One piece of the data crosses nodes while others move inside. ReduceScatter
  // and AllGather are done in two layers as well. Small sums go as with kFirst. The ranks must
  // compute on the host.
  kAll,
};

// All ranks get the same bits. 16-bit sums are rounded after each layer.
class Layered : public Communicator {
 public:
  // The communicator of `rank`; `places` holds all ranks. `inside` is the communicator of this
  // rank's node. `across` is the one between nodes, in their order, on the ranks that exchange
  // between nodes, else null. Both work on memory of the same device and must outlive this object.
  Layered(int rank, std::vector<RankPlace> places, Communicator* inside, Communicator* across,
          Across who = Across::kFirst);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(places_.size()); }
  void AllReduce(void* data, int64_t count, DType dtype) override;
  void ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) override;
  void AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) override;
  void Broadcast(void* data, int64_t bytes, int root) override;
  void Barrier() override;
  void SetBucket(int64_t bucket) override;
  void ExchangeAfterCompute(int64_t bucket) override;
  // Aborts both layers. A rank that learns of an abort in one layer passes it to the other.
  void Abort(const std::string& why) override;

 private:
  // A part of a message, which moves in one step of the pipeline. Its elements are in the order of
  // columns (ranks with the same place inside) and, within a column, of nodes.
  struct Piece {
    int64_t begin = 0;              // first element, of the data or of packed_
    int64_t done = 0;               // elements of each share that earlier pieces have
    int64_t most = 0;               // elements of a share that this piece can have
    std::vector<int64_t> columns;   // cuts of the columns, relative to `begin`
    std::vector<int64_t> own_cuts;  // cuts of the nodes in the own column, relative to its start
  };

  template <class F>
  void InLayers(const F& exchange);
  bool Leads() const { return places_[rank_].inside == 0; }
  bool Divides(int64_t bytes) const;
  void CutEvenly(int64_t count, int64_t element_bytes);
  void CutShares(const std::vector<int64_t>& cuts, int64_t element_bytes);
  template <class Before, class During, class After>
  void Pipeline(const Before& inside_before, const During& across, const After& inside_after);
  template <class F>
  void ForParts(const Piece& piece, const std::vector<int64_t>& cuts, const F& f) const;

  const int rank_;
  const std::vector<RankPlace> places_;
  Communicator* const inside_;
  Communicator* const across_;
  const bool one_node_;
  std::vector<int> columns_;              // with kAll: all ranks, by place inside and then by node
  int nodes_ = 1;                         // with kAll: number of nodes
  std::vector<Piece> pieces_;             // of the current message
  size_t piece_count_ = 0;                // the rest of pieces_ is memory for larger messages
  std::vector<char> packed_;              // shares of the current message, piece by piece
  std::unique_ptr<TaskThread> crossing_;  // exchanges across nodes; null unless kAll
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_LAYERED_H_
