// Compares the programs and libraries of all ranks, so that mixed versions are refused before
// training starts.
#ifndef DOPPIO_PARALLEL_MEETING_RANK_IDENTITY_H_
#define DOPPIO_PARALLEL_MEETING_RANK_IDENTITY_H_

#include <string>
#include <vector>

namespace doppio {

// The first message that ranks exchange. All versions of Doppio must understand it, so its layout
// never changes. Texts end with a zero byte and are truncated to fit.
struct RankIdentity {
  char host[64];
  char program[192];
  char library[256];
};

// Returns the identity with these texts, truncated to fit.
RankIdentity IdentityOf(const std::string& host, const std::string& program,
                        const std::string& library);

// Returns "" if all ranks have the same program and library. Otherwise returns, in rank order, "the
// ranks run different builds of Doppio: ranks 0, 2-3 on node1, node2: doppio 0.1.0; rank 1 on
// node3: ...".
std::string DifferenceAmong(const std::vector<RankIdentity>& ranks);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MEETING_RANK_IDENTITY_H_
