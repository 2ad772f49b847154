#include "parallel/reduce/layered.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "parallel/reduce/shares.h"

namespace doppio {
namespace {

// Smaller sums are not divided: their messages cost more than their bytes.
constexpr int64_t kLeastDivided = int64_t{32} << 10;
// Bytes of a piece, all columns together.
constexpr int64_t kLayeredPiece = int64_t{1} << 20;

}  // namespace

std::vector<RankPlace> PlacesByNode(const std::vector<int>& ranks_of_nodes) {
  std::vector<RankPlace> places;
  for (size_t node = 0; node < ranks_of_nodes.size(); ++node) {
    for (int inside = 0; inside < ranks_of_nodes[node]; ++inside)
      places.push_back({static_cast<int>(node), inside});
  }
  return places;
}

Layered::Layered(int rank, std::vector<RankPlace> places, Communicator* inside,
                 Communicator* across, Across who)
    : rank_(rank),
      places_(std::move(places)),
      inside_(inside),
      across_(across),
      one_node_(std::all_of(places_.begin(), places_.end(),
                            [](const RankPlace& place) { return place.node == 0; })) {
  const RankPlace& own = places_[rank];
  DOPPIO_CHECK(inside->rank() == own.inside, "the place inside");
  DOPPIO_CHECK((across != nullptr) == (own.inside == 0 || who == Across::kAll),
               "the ranks that exchange between nodes, and only they, have `across`");
  DOPPIO_CHECK(across == nullptr || across->rank() == own.node, "the place across");
  if (who == Across::kFirst) return;
  nodes_ = across->size();
  DOPPIO_CHECK(nodes_ * inside->size() == size(), "the nodes have the same number of ranks");
  columns_.resize(size());
  for (int r = 0; r < size(); ++r) columns_[places_[r].inside * nodes_ + places_[r].node] = r;
  crossing_ = std::make_unique<TaskThread>();
}

// A rank that loses a peer in one layer never arrives in the other layer, so it aborts both.
template <class F>
void Layered::InLayers(const F& exchange) {
  try {
    exchange();
  } catch (const PeerError& e) {
    Abort(e.message());
    if (crossing_) crossing_->Settle();  // it uses the caller's memory
    throw;
  }
}

bool Layered::Divides(int64_t bytes) const {
  return crossing_ != nullptr && !one_node_ && bytes >= kLeastDivided;
}

// Makes the pieces of a message whose columns are even.
void Layered::CutEvenly(int64_t count, int64_t element_bytes) {
  const int64_t most = kLayeredPiece / element_bytes;
  piece_count_ = 0;
  for (int64_t begin = 0; begin < count; begin += most) {
    if (piece_count_ == pieces_.size()) pieces_.emplace_back();
    Piece& piece = pieces_[piece_count_++];
    piece.begin = begin;
    piece.columns.resize(inside_->size() + 1);
    for (int c = 0; c <= inside_->size(); ++c)
      piece.columns[c] = EvenCut(std::min(most, count - begin), inside_->size(), c);
  }
}

// Makes the pieces of a message whose shares `cuts` divides, as they stand in packed_.
void Layered::CutShares(const std::vector<int64_t>& cuts, int64_t element_bytes) {
  const int64_t most = std::max<int64_t>(1, kLayeredPiece / element_bytes / size());
  int64_t longest = 0, begin = 0;
  for (int r = 0; r < size(); ++r) longest = std::max(longest, cuts[r + 1] - cuts[r]);
  piece_count_ = 0;
  for (int64_t done = 0; done < longest; done += most) {
    if (piece_count_ == pieces_.size()) pieces_.emplace_back();
    Piece& piece = pieces_[piece_count_++];
    piece.begin = begin;
    piece.done = done;
    piece.most = most;
    piece.columns.assign(1, 0);
    piece.own_cuts.assign(1, 0);
    int64_t at = 0;
    for (int c = 0; c < inside_->size(); ++c) {
      for (int n = 0; n < nodes_; ++n) {
        const int r = columns_[c * nodes_ + n];
        at += std::clamp<int64_t>(cuts[r + 1] - cuts[r] - done, 0, most);
        if (c == inside_->rank()) piece.own_cuts.push_back(at - piece.columns[c]);
      }
      piece.columns.push_back(at);
    }
    begin += at;
  }
  packed_.resize(std::max(packed_.size(), static_cast<size_t>(begin * element_bytes)));
}

// Calls f(rank, place in packed_, place in the data, elements) for the part of each rank's share
// that is in `piece`.
template <class F>
void Layered::ForParts(const Piece& piece, const std::vector<int64_t>& cuts, const F& f) const {
  int64_t at = piece.begin;
  for (const int r : columns_) {
    const int64_t count = std::clamp<int64_t>(cuts[r + 1] - cuts[r] - piece.done, 0, piece.most);
    f(r, at, cuts[r] + piece.done, count);
    at += count;
  }
}

// While a piece crosses nodes, the next one moves inside them. All ranks make the same calls inside
// in the same order, and the same across.
template <class Before, class During, class After>
void Layered::Pipeline(const Before& inside_before, const During& across,
                       const After& inside_after) {
  for (size_t i = 0; i < piece_count_; ++i) {
    inside_before(pieces_[i]);
    crossing_->Give([&across, &piece = pieces_[i]] { across(piece); });
    if (i == 0) continue;
    crossing_->AwaitAllBut(1);
    inside_after(pieces_[i - 1]);
  }
  if (piece_count_ == 0) return;
  crossing_->AwaitAllBut(0);
  inside_after(pieces_[piece_count_ - 1]);
}

void Layered::AllReduce(void* data, int64_t count, DType dtype) {
  const int64_t bytes = ElementBytes(dtype);
  InLayers([&] {
    if (!Divides(count * bytes)) {
      inside_->AllReduce(data, count, dtype);
      if (one_node_) return;
      if (Leads()) across_->AllReduce(data, count, dtype);
      inside_->Broadcast(data, count * bytes, 0);
      return;
    }
    CutEvenly(count, bytes);
    const int own = inside_->rank();
    const auto at = [&](int64_t element) { return static_cast<char*>(data) + element * bytes; };
    Pipeline(
        [&](const Piece& piece) { inside_->ReduceScatter(at(piece.begin), piece.columns, dtype); },
        [&](const Piece& piece) {
          const int64_t begin = piece.columns[own];
          across_->AllReduce(at(piece.begin + begin), piece.columns[own + 1] - begin, dtype);
        },
        [&](const Piece& piece) { inside_->AllGather(at(piece.begin), piece.columns, dtype); });
  });
}

void Layered::ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) {
  const int64_t bytes = ElementBytes(dtype);
  if (!Divides(cuts.back() * bytes)) return Communicator::ReduceScatter(data, cuts, dtype);
  InLayers([&] {
    CutShares(cuts, bytes);
    char *const from = static_cast<char*>(data), *const packed = packed_.data();
    const auto column = [&](const Piece& piece) {
      return packed + (piece.begin + piece.columns[inside_->rank()]) * bytes;
    };
    Pipeline(
        [&](const Piece& piece) {
          ForParts(piece, cuts, [&](int, int64_t to, int64_t at, int64_t count) {
            std::memcpy(packed + to * bytes, from + at * bytes, count * bytes);
          });
          inside_->ReduceScatter(packed + piece.begin * bytes, piece.columns, dtype);
        },
        [&](const Piece& piece) { across_->ReduceScatter(column(piece), piece.own_cuts, dtype); },
        [&](const Piece& piece) {
          ForParts(piece, cuts, [&](int r, int64_t to, int64_t at, int64_t count) {
            if (r == rank_) std::memcpy(from + at * bytes, packed + to * bytes, count * bytes);
          });
        });
  });
}

void Layered::AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) {
  const int64_t bytes = ElementBytes(dtype);
  if (!Divides(cuts.back() * bytes)) return Communicator::AllGather(data, cuts, dtype);
  InLayers([&] {
    CutShares(cuts, bytes);
    char *const to = static_cast<char*>(data), *const packed = packed_.data();
    const auto column = [&](const Piece& piece) {
      return packed + (piece.begin + piece.columns[inside_->rank()]) * bytes;
    };
    Pipeline(
        [&](const Piece& piece) {
          ForParts(piece, cuts, [&](int r, int64_t from, int64_t at, int64_t count) {
            if (r == rank_) std::memcpy(packed + from * bytes, to + at * bytes, count * bytes);
          });
        },
        [&](const Piece& piece) { across_->AllGather(column(piece), piece.own_cuts, dtype); },
        [&](const Piece& piece) {
          inside_->AllGather(packed + piece.begin * bytes, piece.columns, dtype);
          ForParts(piece, cuts, [&](int r, int64_t from, int64_t at, int64_t count) {
            if (r != rank_) std::memcpy(to + at * bytes, packed + from * bytes, count * bytes);
          });
        });
  });
}

void Layered::Broadcast(void* data, int64_t bytes, int root) {
  const RankPlace from = places_[root];
  const bool same_node = places_[rank_].node == from.node;
  InLayers([&] {
    if (same_node) inside_->Broadcast(data, bytes, from.inside);
    if (one_node_) return;
    if (Leads()) across_->Broadcast(data, bytes, from.node);
    if (!same_node) inside_->Broadcast(data, bytes, 0);
  });
}

void Layered::Barrier() {
  InLayers([&] {
    inside_->Barrier();
    if (one_node_) return;
    if (Leads()) across_->Barrier();
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
