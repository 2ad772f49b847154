// The meeting in which the members of a world that is lost, and newcomers, form the next one: the
// side of its host, the lowest rank that still lives.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_HOST_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_HOST_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "parallel/elastic/join_server.h"
#include "parallel/elastic/elastic_options.h"

namespace doppio {

// The state of another member, as far as the caller can find out.
struct Presence {
  enum State { kLives, kDead, kSilent } state = kSilent;
  int64_t epoch = 0;  // of its world, if it lives
  JoinServer::Mode mode = JoinServer::Mode::kTraining;
};
// Asks all `places` at once. `own` is the caller. Takes at most some seconds.
std::vector<Presence> ProbeAll(const std::vector<ElasticPlace>& places, const std::string& key,
                               const ElasticRequest& own);

class ElasticHost {
 public:
  struct Place {
    ElasticRequest own;                 // of this process
    std::vector<ElasticPlace> members;  // of its last world, by rank; empty: before the first one
    std::set<uint64_t> stuck;           // members that do not come although they live
    double busy_seconds = 0;            // that members may take until they come
  };
  enum class End {
    kHeld,        // *roster is that of the new world
    kLowerLives,  // another member is the host
    kExcluded     // the others have formed a world without this process
  };
  // All arguments must outlive the host.
  ElasticHost(const ElasticOptions& options, JoinServer* server, Place place)
      : options_(options), server_(server), place_(std::move(place)) {}

  // Blocks until the meeting ends. Throws UnreachableRank on all its ranks if they are too few, and
  // MixedRanks if their programs differ.
  End Hold(ElasticRoster* roster);

 private:
  bool first() const { return place_.members.empty(); }
  std::string NameOf(size_t member) const;
  // Returns true, with *end, if this process must not hold the meeting.
  bool ProbeMissing(End* end);
  bool AllDecided(double waited) const;
  void CheckMajority();
  bool Enough(double waited);
  std::string TooFew(int usable, double waited) const;
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
  std::map<size_t, Presence> found_;       // of the missing ones
  std::map<size_t, double> silent_since_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_HOST_H_
