#include "parallel/elastic/elastic_host.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "core/base/clock.h"
#include "core/base/text/split_at.h"
#include "parallel/meeting/texts.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

constexpr double kProbeSeconds = 1.5, kProbeAgainSeconds = 0.5;
constexpr std::chrono::milliseconds kLookAgain(20);

// Asks once, within `seconds`.
Presence ProbeOnce(const ElasticPlace& place, const std::string& key, double seconds,
                   const ElasticRequest& call) {
  Presence found;
  Socket socket;
  const Reached reached = SendRequest(SplitAt(GetText(place.listener.addresses), ','),
                                      place.listener.port, key, false, seconds, call, &socket);
  ElasticAnswer answer;
  if (reached == Reached::kNoAnswer) return found;
  found.state = Presence::kDead;  // or its port belongs to another program now
  if (reached != Reached::kYes) return found;
  if (!ReceiveAnswer(socket, seconds, &answer)) {
    found.state = Presence::kSilent;
  } else if (answer.kind == ElasticAnswer::kAlive && answer.number == place.number) {
    found = {Presence::kLives, answer.epoch, static_cast<JoinServer::Mode>(answer.count)};
  }
  return found;
}

// Returns kSilent only after kProbeSeconds. A process that is ending may accept a call and reset
// it.
Presence Probe(const ElasticPlace& place, const std::string& key, ElasticRequest call) {
  call.kind = ElasticRequest::kProbe;
  const auto begun = std::chrono::steady_clock::now();
  for (;; std::this_thread::sleep_for(kLookAgain)) {
    const double left = kProbeSeconds - SecondsSince(begun);
    if (left <= 0) return Presence();
    const Presence found = ProbeOnce(place, key, left, call);
    if (found.state != Presence::kSilent) return found;
  }
}

std::string JoinTexts(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

std::vector<Presence> ProbeAll(const std::vector<ElasticPlace>& places, const std::string& key,
                               const ElasticRequest& own) {
  std::vector<std::future<Presence>> asked;
  for (const ElasticPlace& place : places)
    asked.push_back(std::async(std::launch::async, &Probe, std::cref(place), std::cref(key), own));
  std::vector<Presence> found;
  for (auto& one : asked) found.push_back(one.get());
  return found;
}

ElasticHost::End ElasticHost::Hold(ElasticRoster* roster) {
  const auto begun = std::chrono::steady_clock::now();
  double asked = -kProbeAgainSeconds;
  for (;; std::this_thread::sleep_for(kLookAgain)) {
    Gather();
    double waited = SecondsSince(begun);
    if (!missing_.empty() && waited - asked >= kProbeAgainSeconds) {
      End end;
      if (ProbeMissing(&end)) return end;
      Gather();  // who has come meanwhile
      waited = asked = SecondsSince(begun);
    }
    if (!AllDecided(waited)) continue;
    CheckMajority();
    if (Enough(waited)) break;
  }
  CheckPrograms();
  *roster = Introduce();
  return End::kHeld;
}

std::string ElasticHost::NameOf(size_t member) const {
  return "rank " + std::to_string(member) + " on " + GetText(place_.members[member].listener.host);
}

// Sorts the processes that wait into members of the last world and newcomers.
void ElasticHost::Gather() {
  const std::vector<ElasticRequest> waiting = server_->Waiting();
  entered_.clear();
  newcomers_.clear();
  missing_.clear();
  std::set<uint64_t> members;
  for (size_t m = 0; m < place_.members.size(); ++m) {
    const uint64_t number = place_.members[m].number;
    members.insert(number);
    if (number == place_.own.number) continue;
    const auto found =
        std::find_if(waiting.begin(), waiting.end(), [&](const ElasticRequest& call) {
          return call.number == number && call.kind == ElasticRequest::kRejoin;
        });
    if (found == waiting.end()) {
      missing_.insert(m);
    } else {
      entered_.push_back(*found);
    }
  }
  for (const ElasticRequest& call : waiting) {
    if (call.kind == ElasticRequest::kJoin || members.count(call.number) == 0)
      newcomers_.push_back(call);
  }
  std::stable_sort(
      newcomers_.begin(), newcomers_.end(),
      [](const ElasticRequest& a, const ElasticRequest& b) { return a.rank < b.rank; });
}

bool ElasticHost::ProbeMissing(End* end) {
  std::vector<ElasticPlace> places;
  for (const size_t m : missing_) places.push_back(place_.members[m]);
  const std::vector<Presence> found = ProbeAll(places, options_.Key(), place_.own);
  size_t i = 0;
  for (const size_t m : missing_) {
    const Presence& one = found[i++];
    found_[m] = one;
    if (one.state == Presence::kSilent) {
      silent_since_.emplace(m, MonotonicSeconds() - kProbeSeconds);
    } else {
      silent_since_.erase(m);
    }
    if (one.state != Presence::kLives) continue;
    const uint64_t number = place_.members[m].number;
    const bool lower = m < static_cast<size_t>(place_.own.rank);
    *end = one.epoch > place_.own.epoch ? End::kExcluded : End::kLowerLives;
    if (*end == End::kExcluded || (lower && place_.stuck.count(number) == 0)) return true;
  }
  return false;
}

// Returns true if it is certain for each missing member that it does not come, or that it need not
// be waited for.
bool ElasticHost::AllDecided(double waited) const {
  return std::all_of(missing_.begin(), missing_.end(), [&](size_t m) {
    const auto found = found_.find(m);
    if (found == found_.end()) return false;
    if (found->second.state == Presence::kDead) return true;
    const auto silent = silent_since_.find(m);
    if (silent != silent_since_.end())
      return MonotonicSeconds() - silent->second >= options_.silent_seconds;
    return place_.stuck.count(place_.members[m].number) > 0 || waited >= place_.busy_seconds;
  });
}

// If a network is cut, the members on both sides of the cut live. Only one side may go on: the one
// with most of the members that may live, or the one with rank 0 if both sides are equal.
void ElasticHost::CheckMajority() {
  std::vector<std::string> doubtful;
  for (const size_t m : missing_) {
    if (found_.at(m).state != Presence::kDead) doubtful.push_back(NameOf(m));
  }
  const size_t here = entered_.size() + 1, there = doubtful.size();
  if (here > there || (here == there && place_.own.rank == 0)) return;
  EndForAll(ElasticAnswer::kMissing,
            "only " + std::to_string(here) + " of " + std::to_string(here + there) +
                " ranks that may live have met; the others may train on without them: " +
                JoinTexts(doubtful));
}

// Returns true if there are enough ranks for a world. Ends all if no more come in time.
bool ElasticHost::Enough(double waited) {
  const int come = static_cast<int>(1 + entered_.size() + newcomers_.size());
  const int usable = options_.Usable(come);
  const double limit = first() ? options_.rendezvous.seconds : options_.watch.stall_seconds;
  if (usable >= options_.least && (!first() || come >= options_.rendezvous.size || waited > limit))
    return true;
  if (waited <= limit && !options_.Interrupted()) return false;
  EndForAll(ElasticAnswer::kMissing, TooFew(usable, waited));
}

std::string ElasticHost::TooFew(int usable, double waited) const {
  return "only " + std::to_string(usable) + (usable == 1 ? " rank" : " ranks") +
         " can train after " + std::to_string(static_cast<int>(waited)) +
         " s, and --elastic wants at least " + std::to_string(options_.least) +
         (first() ? "" : "; left: " + LeftText());
}

void ElasticHost::EndForAll(ElasticAnswer::Kind kind, const std::string& text) {
  for (const ElasticRequest& call : server_->Waiting()) {
    const Socket socket = server_->Release(call.number);
    const auto bytes = static_cast<int64_t>(text.size());
    if (socket.open())
      SendAnswer(socket, {kind, place_.own.number, place_.own.epoch, 0, bytes}, text);
  }
  if (kind == ElasticAnswer::kMixed) throw MixedRanks(text);
  throw UnreachableRank(text);
}

void ElasticHost::CheckPrograms() {
  std::vector<RankIdentity> identities = {place_.own.identity};
  for (const ElasticRequest& call : entered_) identities.push_back(call.identity);
  for (const ElasticRequest& call : newcomers_) identities.push_back(call.identity);
  const std::string difference = DifferenceAmong(identities);
  if (!difference.empty()) EndForAll(ElasticAnswer::kMixed, difference);
}

std::string ElasticHost::LeftText() const {
  std::vector<std::string> left;
  for (const size_t m : missing_) {
    const Presence::State state = found_.at(m).state;
    left.push_back(NameOf(m) + (state == Presence::kDead     ? " has ended"
                                : state == Presence::kSilent ? " does not answer"
                                                             : " hangs"));
  }
  return JoinTexts(left);
}

// Returns the call that this process would make, with the addresses at which others have come.
ElasticRequest ElasticHost::OwnRequest() const {
  ElasticRequest own = place_.own;
  const std::vector<std::string> routes = server_->Routes();
  if (!options_.rendezvous.interface.empty() || routes.empty()) return own;
  std::string list;
  for (const std::string& route : routes) list += (list.empty() ? "" : ",") + route;
  PutText(list, own.listener.addresses);
  PutText(list, own.team.addresses);
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
  roster.came = JoinTexts(came);
  std::string rest(reinterpret_cast<const char*>(roster.places.data()),
                   roster.places.size() * sizeof(ElasticPlace));
  const std::string text = roster.left + '\n' + roster.came;
  const ElasticAnswer answer = {ElasticAnswer::kRoster, place_.own.number, roster.epoch,
                                static_cast<int64_t>(roster.places.size()),
                                static_cast<int64_t>(text.size())};
  for (size_t r = 1; r < usable; ++r) {
    const Socket socket = server_->Release(ranks[r].number);
    if (socket.open()) SendAnswer(socket, answer, rest + text);
  }
  return roster;
}

}  // namespace doppio
