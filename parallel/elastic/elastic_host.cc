#include "parallel/elastic/elastic_host.h"

#include <algorithm>
#include <future>

#include "core/base/text/join.h"
#include "core/base/text/split_at.h"
#include "parallel/meeting/texts.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

constexpr double kProbeAgainSeconds = 0.5;
constexpr double kPauseSeconds = 0.02;

// Waits for kPauseSeconds. Returns the time at which the wait had to end.
double Pause(const TimeSource& clock) {
  const double due = clock.Now() + kPauseSeconds;
  clock.Poll(nullptr, 0, due);
  return due;
}

// Probes once, within `seconds`.
Presence ProbeOnce(const ElasticPlace& place, const std::string& key, double seconds,
                   const TimeSource* clock, const ElasticRequest& request) {
  Socket socket;
  const Reached reached =
      SendElasticRequest(SplitAt(GetText(place.listener.addresses), ','), place.listener.port, key,
                         false, seconds, clock, request, &socket);
  if (reached == Reached::kNoAnswer || reached == Reached::kLost) return {};
  // Otherwise its port belongs to no program now, or to another one.
  if (reached != Reached::kYes) return {Health::kGone};
  ElasticAnswer answer;
  if (!ReceiveAnswer(socket, seconds, &answer)) return {};
  const bool own = answer.kind == ElasticAnswer::kAlive && answer.number == place.number;
  return own ? Presence{Health::kAlive, answer.epoch} : Presence{Health::kGone};
}

// Returns kSilent only after kProbeSeconds: a process that is ending may accept a connection and
// reset it.
Presence Probe(const ElasticPlace& place, const std::string& key, const TimeSource* clock,
               ElasticRequest request) {
  request.kind = ElasticRequest::kProbe;
  const double until = clock->Now() + kProbeSeconds;
  Presence found;
  for (double left = kProbeSeconds; found.health == Health::kSilent && left > 0;
       left = until - clock->Now()) {
    found = ProbeOnce(place, key, left, clock, request);
    if (found.health == Health::kSilent) Pause(*clock);
  }
  return found;
}

}  // namespace

std::vector<Presence> ProbeAll(const std::vector<ElasticPlace>& places, const std::string& key,
                               const TimeSource* clock, const ElasticRequest& own) {
  std::vector<std::future<Presence>> probes;
  for (const ElasticPlace& place : places) {
    probes.push_back(
        std::async(std::launch::async, &Probe, std::cref(place), std::cref(key), clock, own));
  }
  std::vector<Presence> found;
  for (auto& one : probes) found.push_back(one.get());
  return found;
}

ElasticHost::ElasticHost(const ElasticOptions& options, JoinServer* server, Place place)
    : options_(options),
      server_(server),
      place_(std::move(place)),
      detector_(options.watch.clock, {Limit::kProbe, options.silent_seconds},
                {Limit::kRejoin, place_.busy_seconds}) {
  for (size_t m = 0; m < place_.members.size(); ++m) {
    detector_.Add(NameOf(m));
    if (place_.stuck.count(place_.members[m].number) > 0) detector_.Declare(m, Health::kStalled);
  }
}

RendezvousEnd ElasticHost::Hold(ElasticRoster* roster) {
  const TimeSource& clock = *options_.watch.clock;
  const double begun = clock.Now();
  double probe_at = begun;
  for (;; detector_.Woke(Pause(clock))) {
    Gather();
    if (!missing_.empty() && clock.Now() >= probe_at) {
      RendezvousEnd end;
      if (ProbeMissing(&end)) return end;
      Gather();  // others may have come meanwhile
      probe_at = clock.Now() + kProbeAgainSeconds;
    }
    // A member that is alive is waited for.
    if (std::any_of(missing_.begin(), missing_.end(),
                    [&](size_t m) { return detector_.HealthOf(m) == Health::kAlive; }))
      continue;
    CheckMajority();
    if (Enough(clock.Now() - begun)) break;
  }
  CheckPrograms();
  *roster = Introduce();
  return RendezvousEnd::kFormed;
}

std::string ElasticHost::NameOf(size_t member) const {
  return "rank " + std::to_string(member) + " on " + GetText(place_.members[member].listener.host);
}

// Sorts the processes that wait into members of the last world and newcomers.
void ElasticHost::Gather() {
  const std::vector<ElasticRequest> waiting = server_->waiting()->Requests();
  entered_.clear();
  newcomers_.clear();
  missing_.clear();
  ++gathers_;
  std::set<uint64_t> members;
  for (size_t m = 0; m < place_.members.size(); ++m) {
    const uint64_t number = place_.members[m].number;
    members.insert(number);
    if (number == place_.own.number) continue;
    const auto found =
        std::find_if(waiting.begin(), waiting.end(), [&](const ElasticRequest& request) {
          return request.number == number && request.kind == ElasticRequest::kRejoin;
        });
    if (found == waiting.end()) {
      missing_.insert(m);
    } else {
      entered_.push_back(*found);
      detector_.Heard(static_cast<int>(m), gathers_, -1);
    }
  }
  for (const ElasticRequest& request : waiting) {
    if (request.kind == ElasticRequest::kJoin || members.count(request.number) == 0)
      newcomers_.push_back(request);
  }
  std::stable_sort(
      newcomers_.begin(), newcomers_.end(),
      [](const ElasticRequest& a, const ElasticRequest& b) { return a.rank < b.rank; });
}

bool ElasticHost::ProbeMissing(RendezvousEnd* end) {
  std::vector<ElasticPlace> places;
  for (const size_t m : missing_) places.push_back(place_.members[m]);
  const double due = options_.watch.clock->Now() + kProbeSeconds;
  const std::vector<Presence> found =
      ProbeAll(places, options_.Key(), options_.watch.clock, place_.own);
  detector_.Woke(due);
  size_t i = 0;
  for (const size_t m : missing_) {
    const Presence& one = found[i++];
    if (one.health == Health::kGone) detector_.Declare(m, Health::kGone);
    if (one.health != Health::kAlive) continue;
    detector_.Heard(m);
    const uint64_t number = place_.members[m].number;
    const bool lower = m < static_cast<size_t>(place_.own.rank);
    *end = one.epoch > place_.own.epoch ? RendezvousEnd::kExcluded : RendezvousEnd::kMoved;
    if (*end == RendezvousEnd::kExcluded || (lower && place_.stuck.count(number) == 0)) return true;
  }
  return false;
}

// If a network is cut, the members on both sides of the cut are alive. Only one side may continue:
// the one with most of the members that may be alive, or the one with rank 0 if both sides are
// equal.
void ElasticHost::CheckMajority() {
  std::vector<std::string> doubtful;
  for (const size_t m : missing_) {
    if (detector_.HealthOf(m) != Health::kGone) doubtful.push_back(NameOf(m));
  }
  const size_t here = entered_.size() + 1, there = doubtful.size();
  if (here > there || (here == there && place_.own.rank == 0)) return;
  EndForAll(ElasticAnswer::kMissing,
            StrCat("only ", here, " of ", here + there,
                   " ranks that may be alive have met; the others may train on without them: ",
                   Join(doubtful)));
}

// Returns true if there are enough ranks for a world. Ends all if no more come in time.
bool ElasticHost::Enough(double waited) {
  const int come = static_cast<int>(1 + entered_.size() + newcomers_.size());
  const int usable = options_.Usable(come);
  const double limit = first() ? options_.rendezvous.seconds : options_.watch.stall_seconds;
  if (usable >= options_.least && (!first() || come >= options_.rendezvous.size || waited > limit))
    return true;
  if (waited <= limit && !options_.Interrupted()) return false;
  EndForAll(ElasticAnswer::kMissing,
            StrCat("only ", usable, usable == 1 ? " rank" : " ranks", " can train after ",
                   static_cast<int>(waited), " s, and --elastic needs at least ", options_.least,
                   first() ? "" : "; left: " + LeftText()));
}

void ElasticHost::EndForAll(ElasticAnswer::Kind kind, const std::string& text) {
  for (const ElasticRequest& request : server_->waiting()->Requests()) {
    const Socket socket = server_->waiting()->Release(request.number);
    const auto bytes = static_cast<int64_t>(text.size());
    if (socket.open())
      SendAnswer(socket, {kind, place_.own.number, place_.own.epoch, 0, bytes}, text);
  }
  if (kind == ElasticAnswer::kMixed) throw MixedRanks(text);
  throw UnreachableRank(text);
}

void ElasticHost::CheckPrograms() {
  std::vector<RankIdentity> identities = {place_.own.identity};
  for (const ElasticRequest& request : entered_) identities.push_back(request.identity);
  for (const ElasticRequest& request : newcomers_) identities.push_back(request.identity);
  const std::string difference = DifferenceAmong(identities);
  if (!difference.empty()) EndForAll(ElasticAnswer::kMixed, difference);
}

std::string ElasticHost::LeftText() const {
  std::vector<std::string> left;
  for (const size_t m : missing_) left.push_back(detector_.Summary(m));
  return Join(left);
}

// Returns the request that this process would send, with the addresses at which others have come.
ElasticRequest ElasticHost::OwnRequest() const {
  ElasticRequest own = place_.own;
  const std::string routes = server_->Routes();
  if (!options_.rendezvous.interface.empty() || routes.empty()) return own;
  PutText(routes, own.listener.addresses);
  PutText(routes, own.team.addresses);
  return own;
}

// Sends the roster to its ranks. A rank that does not get it is missed when the world is made.
ElasticRoster ElasticHost::Introduce() {
  std::vector<ElasticRequest> ranks = {OwnRequest()};
  ranks.insert(ranks.end(), entered_.begin(), entered_.end());
  const size_t members = ranks.size();
  ranks.insert(ranks.end(), newcomers_.begin(), newcomers_.end());
  const auto usable = static_cast<size_t>(options_.Usable(static_cast<int>(ranks.size())));
  ElasticRoster roster;
  roster.left = LeftText();
  std::vector<std::string> came;
  int64_t epoch = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    epoch = std::max(epoch, ranks[r].epoch);
    if (r < usable) {
      roster.places.push_back(
          {ranks[r].number, ranks[r].iteration, ranks[r].listener, ranks[r].team});
    } else if (r < members) {
      roster.left += (roster.left.empty() ? "" : ", ") +
                     NameOf(static_cast<size_t>(ranks[r].rank)) +
                     " waits, because the batch cannot be shared by more ranks";
    }
    if (r >= members && r < usable && !first())
      came.push_back("rank " + std::to_string(r) + " on " + GetText(ranks[r].identity.host));
  }
  roster.epoch = epoch + 1;
  roster.came = Join(came);
  std::string rest(reinterpret_cast<const char*>(roster.places.data()),
                   roster.places.size() * sizeof(ElasticPlace));
  const std::string text = roster.left + '\n' + roster.came;
  const ElasticAnswer answer = {ElasticAnswer::kRoster, place_.own.number, roster.epoch,
                                static_cast<int64_t>(roster.places.size()),
                                static_cast<int64_t>(text.size())};
  for (size_t r = 1; r < usable; ++r) {
    const Socket socket = server_->waiting()->Release(ranks[r].number);
    if (socket.open()) SendAnswer(socket, answer, rest + text);
  }
  return roster;
}

}  // namespace doppio
