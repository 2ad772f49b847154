// What each rank runs, so that a run of different versions is refused before it trains.
#ifndef DOPPIO_PARALLEL_RANK_IDENTITY_H_
#define DOPPIO_PARALLEL_RANK_IDENTITY_H_

#include <string>
#include <vector>

namespace doppio {

// The first thing that ranks exchange, whatever their versions: its layout never changes. Texts end
// with a zero byte and are cut to fit.
struct RankIdentity {
  char host[64];
  char program[192];
  char library[256];
};

RankIdentity IdentityOf(const std::string& host, const std::string& program,
                        const std::string& library);

// "the ranks run different builds of Doppio: ranks 0, 2-3 on node1, node2: doppio 0.1.0; rank 1 on
// node3: ...", in the order of ranks; "" when all programs and all libraries are the same.
std::string DifferenceAmong(const std::vector<RankIdentity>& ranks);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_RANK_IDENTITY_H_
