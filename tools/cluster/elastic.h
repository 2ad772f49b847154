// Trainings whose ranks may leave and come (--elastic).
#ifndef DOPPIO_TOOLS_CLUSTER_ELASTIC_H_
#define DOPPIO_TOOLS_CLUSTER_ELASTIC_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/net/spec/solver_spec.h"
#include "parallel/elastic/elastic_member.h"
#include "solvers/trainer/trainer.h"
#include "parallel/world/agreement.h"
#include "tools/cli/options.h"
#include "tools/cluster/common_end.h"

namespace doppio {

// The numbers of ranks of --elastic.
struct ElasticRange {
  int least = 1, most = 1;
};
// Reads --elastic=MIN:MAX. Throws UsageError.
ElasticRange ParseElastic(const std::string& value);

// Returns how this process takes part in a training with `settings` (SettingsOfTraining), without
// ElasticOptions::usable. `end` must outlive the training. Throws UsageError if the launcher does
// not join the ranks.
ElasticOptions MakeElasticOptions(const JoinOptions& options, const Facts& settings,
                                  CommonEnd* end);

// Returns ElasticOptions::usable for a training whose ranks divide the batches of `solver` among
// themselves. The solver must outlive the result.
std::function<int(int n)> DivisorsOfBatch(const SolverSpec& solver, const NetOptions& net);

// The state that a process of an elastic training keeps from one world to the next.
struct ElasticSession {
  explicit ElasticSession(const ElasticOptions& options) : least(options.least), member(options) {}

  // Blocks until the process is a rank of a new world in which all ranks have the newest state.
  // Throws PeerError if a rank is lost meanwhile, and what ElasticMember::Meet throws.
  ProcessWorld* Meet();
  // Returns, for the log, "world 3: 2 ranks, continuing after iteration 120; left: ...".
  std::string WorldText() const;
  // Returns the rule for a trainer of the current world.
  ElasticRule Rule();
  // Returns `own`, or a stop that was requested before, perhaps in an earlier world.
  Request Requested(Request own);
  bool first_world() const { return member.roster().epoch <= 1; }

  const int least;
  ElasticMember member;
  std::shared_ptr<TrainerState> state;  // null before the first iteration
  bool met_state = false;               // some world has had a state
  bool newcomer = true;                 // this process came to its world without a state
  Request stop = Request::kNone;        // what a signal has asked for
  std::string run_dir;                  // the run folder, known to all ranks; "" if there is none
  std::string lost;                     // why the last world was lost, or ""
};

// Runs `work` in one world after the other, until it returns an exit code; without one, the ranks
// of the world change. When a world is lost, `work` throws an Error with kPeer, and gets the next
// world. If too few ranks are left for one, the host of their last rendezvous calls `save`, throws
// UnreachableRank, and prints it alone. Failures of this process itself are thrown; the others
// continue.
ExitCode RunElastic(ElasticSession* session,
                    const std::function<std::optional<ExitCode>(ProcessWorld* world)>& work,
                    const std::function<void()>& save);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_ELASTIC_H_
