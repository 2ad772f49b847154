#include "parallel/reduce/layered.h"

#include <algorithm>

#include "core/base/error.h"

namespace doppio {

std::vector<RankPlace> PlacesByNode(const std::vector<int>& ranks_of_nodes) {
  std::vector<RankPlace> places;
  for (size_t node = 0; node < ranks_of_nodes.size(); ++node) {
    for (int inside = 0; inside < ranks_of_nodes[node]; ++inside)
      places.push_back({static_cast<int>(node), inside});
  }
  return places;
}

Layered::Layered(int rank, std::vector<RankPlace> places, Communicator* inside,
                 Communicator* across)
    : rank_(rank),
      places_(std::move(places)),
      inside_(inside),
      across_(across),
      one_node_(std::all_of(places_.begin(), places_.end(),
                            [](const RankPlace& place) { return place.node == 0; })) {
  const RankPlace& own = places_[rank];
  DOPPIO_CHECK(inside->rank() == own.inside, "the place inside");
  DOPPIO_CHECK((across != nullptr) == (own.inside == 0),
               "only the first rank of a node has `across`");
  DOPPIO_CHECK(across == nullptr || across->rank() == own.node, "the place across");
}

// A rank that loses a peer in one layer never arrives in the other layer, so it aborts both.
template <class F>
void Layered::InLayers(const F& exchange) {
  try {
    exchange();
  } catch (const PeerError& e) {
    Abort(e.message());
    throw;
  }
}

void Layered::AllReduce(void* data, int64_t count, DType dtype) {
  InLayers([&] {
    inside_->AllReduce(data, count, dtype);
    if (one_node_) return;
    if (across_ != nullptr) across_->AllReduce(data, count, dtype);
    inside_->Broadcast(data, count * ElementBytes(dtype), 0);
  });
}

void Layered::Broadcast(void* data, int64_t bytes, int root) {
  const RankPlace from = places_[root];
  const bool same_node = places_[rank_].node == from.node;
  InLayers([&] {
    if (same_node) inside_->Broadcast(data, bytes, from.inside);
    if (one_node_) return;
    if (across_ != nullptr) across_->Broadcast(data, bytes, from.node);
    if (!same_node) inside_->Broadcast(data, bytes, 0);
  });
}

void Layered::Barrier() {
  InLayers([&] {
    inside_->Barrier();
    if (one_node_) return;
    if (across_ != nullptr) across_->Barrier();
    inside_->Barrier();
  });
}

void Layered::SetBucket(int64_t bucket) {
  inside_->SetBucket(bucket);
  if (across_ != nullptr) across_->SetBucket(bucket);
}

void Layered::ExchangeAfterCompute(int64_t bucket) {
  inside_->ExchangeAfterCompute(bucket);
  if (across_ != nullptr) across_->ExchangeAfterCompute(bucket);
}

void Layered::Abort(const std::string& why) {
  inside_->Abort(why);
  if (across_ != nullptr) across_->Abort(why);
}

}  // namespace doppio
