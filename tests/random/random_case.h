// A random training: a net for both phases and a solver. Everything that runs is in the two
// messages; data files follow from their names (data_files.h).
#ifndef DOPPIO_TESTS_RANDOM_RANDOM_CASE_H_
#define DOPPIO_TESTS_RANDOM_RANDOM_CASE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/net.pb.h"
#include "proto/solver.pb.h"
#include "tests/random/draft_flow.h"

namespace doppio {

struct RandomCase {
  NetParameter net;        // paths of data begin with "data/"
  SolverParameter solver;  // without net, snapshot_prefix and net_param
  unsigned traits = 0;     // union of LayerRow::Trait over the net (TraitsOf)
};

// The drawing of a net.
struct DraftRecord {
  int64_t proposals = 0;                                      // of layers (NetDraft::Add)
  std::vector<std::pair<std::string, std::string>> refusals;  // type and message
  std::map<std::string, GradientCount> gradients;             // by type, of the whole net
};

// Draws the case of a seed. `types`, if not empty, are the only layer types between data and
// losses. Adds to `record`, if given.
RandomCase DrawCase(uint64_t seed, const std::set<std::string>& types = {},
                    DraftRecord* record = nullptr);
// The two parts of DrawCase. The solver depends on the seed and on the kinds of layers of the net,
// so either part can be drawn again alone.
NetParameter DrawNet(uint64_t seed, const std::set<std::string>& types = {},
                     DraftRecord* record = nullptr);
SolverParameter DrawSolver(uint64_t seed, const NetParameter& net);

// Returns the union of the traits of the net's layers and sources. A layer that is no loss but has
// a loss_weight sums over the whole batch (kWholeBatch).
unsigned TraitsOf(const NetParameter& net);

// Numbers that say how varied cases are. Layers are those between sources and losses, without
// scores and Silence. Branches are blobs that several layers other than scores and Silence read, of
// which at least one is such a layer. A shared parameter has a name that several layers give.
struct CaseFacts {
  int layers = 0, branches = 0, shared = 0, sources = 0, losses = 0, in_place = 0;
};
CaseFacts FactsOf(const NetParameter& net);

// Returns the text of a case, a prototxt with the solver's file in its comments, and the reverse.
// Other comments are ignored. CaseFromText throws the mistakes in the text.
std::string CaseText(const RandomCase& random_case);
RandomCase CaseFromText(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_RANDOM_CASE_H_
