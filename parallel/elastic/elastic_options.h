// How a process takes part in an elastic training.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_OPTIONS_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_OPTIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "parallel/elastic/elastic_messages.h"
#include "parallel/meeting/rendezvous_options.h"
#include "parallel/watch/watch.h"

namespace doppio {

struct ElasticOptions {
  RendezvousOptions rendezvous;    // of the first world; the leader always listens at its port
  std::vector<std::string> hosts;  // further machines on which newcomers look for the leader
  bool joins = false;              // true: joins a run, and does not begin one even as rank 0
  int least = 1, most = 1;         // ranks of a world
  // Returns the largest number of ranks, at most n, that can train together; empty: n.
  std::function<int(int n)> usable;
  double silent_seconds = DefaultSeconds(Limit::kProbe);  // without an answer of a member
  // Least time in which a member that is alive must come to a rendezvous. It has three times as
  // long as its longest iteration took, if that is longer.
  double busy_seconds = DefaultSeconds(Limit::kRejoin);
  RankIdentity identity;
  Sha256Digest training = {};  // of the settings that all ranks must share
  // Returns true if the process was requested to end. Called only while it waits for others to
  // come.
  std::function<bool()> interrupted;
  // on_lost is called only if the launcher is lost. All limits of the training use its clock.
  WatchOptions watch;

  bool Interrupted() const { return interrupted && interrupted(); }
  // Returns the number of ranks of a world of which `n` could be ranks.
  int Usable(int n) const {
    const int capped = n < most ? n : most;
    return usable ? usable(capped) : capped;
  }
  // Returns the secret of the run, which is never sent.
  std::string Key() const { return rendezvous.job + '\n' + rendezvous.secret; }
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_OPTIONS_H_
