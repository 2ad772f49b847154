// Gives all ranks the rows that each of them has collected.
#ifndef DOPPIO_SOLVERS_SCORES_GATHER_ROWS_H_
#define DOPPIO_SOLVERS_SCORES_GATHER_ROWS_H_

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/net/contract/communicator.h"

namespace doppio {

// Replaces `*rows` by the rows of all ranks, in the order of the ranks. Collective.
template <class Row>
void GatherRows(Communicator* ranks, std::vector<Row>* rows) {
  static_assert(std::is_trivially_copyable<Row>::value, "rows travel as bytes");
  // The counts are whole numbers, so their sums are exact.
  std::vector<double> counts(ranks->size(), 0);
  counts[ranks->rank()] = static_cast<double>(rows->size());
  ranks->AllReduce(counts.data(), ranks->size(), DType::kFloat64);
  std::vector<Row> all;
  for (int rank = 0; rank < ranks->size(); ++rank) {
    std::vector<Row> of_rank(static_cast<size_t>(counts[rank]));
    if (rank == ranks->rank()) of_rank = *rows;
    if (!of_rank.empty()) {
      ranks->Broadcast(of_rank.data(), static_cast<int64_t>(of_rank.size() * sizeof(Row)), rank);
    }
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  }
  *rows = std::move(all);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_GATHER_ROWS_H_
