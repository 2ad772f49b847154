// The rendezvous in which the members of a lost world, and newcomers, form the next one: the side
// of its host, the lowest rank that is alive.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_HOST_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_HOST_H_

#include <set>
#include <string>
#include <vector>

#include "parallel/elastic/elastic_options.h"
#include "parallel/elastic/elastic_roster.h"
#include "parallel/elastic/join_server.h"
#include "parallel/watch/failure_detector.h"

namespace doppio {

// The state of another member: kAlive, kGone or kSilent.
struct Presence {
  Health health = Health::kSilent;
  int64_t epoch = 0;  // of its world, if it is alive
};
constexpr double kProbeSeconds = 1.5;  // after which a probe counts as not answered
// Probes all `places` at once, as the sender of `own`. Takes at most kProbeSeconds of `clock`.
std::vector<Presence> ProbeAll(const std::vector<ElasticPlace>& places, const std::string& key,
                               const TimeSource* clock, const ElasticRequest& own);

// How a rendezvous ends for one process.
enum class RendezvousEnd {
  kFormed,   // *roster is that of the new world
  kMoved,    // another member is the host, or becomes it
  kExcluded  // the others have formed a world without this process
};

class ElasticHost {
 public:
  struct Place {
    ElasticRequest own;                 // of this process
    std::vector<ElasticPlace> members;  // of its last world, by rank; empty: before the first one
    std::set<uint64_t> stuck;           // members that are alive but do not come
    double busy_seconds = 0;            // that members may take until they come
  };
  // All arguments must outlive the host.
  ElasticHost(const ElasticOptions& options, JoinServer* server, Place place);

  // Blocks until the rendezvous ends. Throws UnreachableRank on all its ranks if they are too few,
  // and MixedRanks if their programs differ.
  RendezvousEnd Hold(ElasticRoster* roster);

 private:
  bool first() const { return place_.members.empty(); }
  std::string NameOf(size_t member) const;
  // Returns true, with *end, if this process must not be the host.
  bool ProbeMissing(RendezvousEnd* end);
  void CheckMajority();
  bool Enough(double waited);
  [[noreturn]] void EndForAll(ElasticAnswer::Kind kind, const std::string& text);
  void Gather();
  void CheckPrograms();
  ElasticRequest OwnRequest() const;
  ElasticRoster Introduce();
  std::string LeftText() const;

  const ElasticOptions& options_;
  JoinServer* const server_;
  const Place place_;
  std::vector<ElasticRequest> entered_;    // members that have come, by rank
  std::vector<ElasticRequest> newcomers_;  // in the order of their ranks to be
  std::set<size_t> missing_;               // members that have not come
  FailureDetector detector_;               // of the members, by rank
  int64_t gathers_ = 0;                    // calls of Gather, the progress of members that wait
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_HOST_H_
