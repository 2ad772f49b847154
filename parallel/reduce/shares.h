// Divides elements among the ranks. Pure functions, so that all ranks divide alike.
#ifndef DOPPIO_PARALLEL_REDUCE_SHARES_H_
#define DOPPIO_PARALLEL_REDUCE_SHARES_H_

#include <cstdint>
#include <vector>

namespace doppio {

// Returns the offset at which the share of `rank` begins if `count` elements are divided evenly
// among `ranks` ranks; for rank == ranks it is `count`. All others are multiples of 64. Links that
// sum a message in parts cut it here, so that an even division of an update keeps the order of
// their additions.
int64_t EvenCut(int64_t count, int ranks, int rank);

// Returns the cuts of a bucket for Communicator::ReduceScatter, relative to `begin`. The bucket is
// the elements [begin, end) of an arena, and `starts` has the first element of each of its
// parameters, the first of which is `begin`. Each cut is the last permitted element up to the even
// one; the start of a parameter and multiples of `unit` elements of the arena are permitted.
std::vector<int64_t> ShareCuts(int64_t begin, int64_t end, const std::vector<int64_t>& starts,
                               int ranks, int64_t unit);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_SHARES_H_
