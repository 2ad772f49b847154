#include "parallel/elastic/elastic_member.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "core/base/log.h"
#include "core/base/text/join.h"
#include "core/base/text/split_at.h"
#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/tcp/rendezvous.h"
#include "parallel/tcp/tcp_world.h"

namespace doppio {
namespace {

constexpr double kRequestSeconds = 2;
constexpr double kHeartbeatSeconds = DefaultSeconds(Limit::kHost);  // a host sends one each second
constexpr int kBacklog = 64;
constexpr std::chrono::milliseconds kTryAgain(200);

uint64_t RandomNumber() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32) | random();
}

}  // namespace

ElasticMember::ElasticMember(const ElasticOptions& options)
    : options_(options), number_(RandomNumber()) {
  const std::string problem =
      InterfaceProblem(options.rendezvous.interface, GetText(options.identity.host));
  if (!problem.empty()) throw UsageError(problem);
  if (options.rendezvous.rank == 0) WarnOfNoSecret(options.rendezvous);
  server_ = std::make_unique<JoinServer>(options_, number_, [this](const std::string& member) {
    Break(member + " has requested a rendezvous");
  });
}

ElasticMember::~ElasticMember() { Leave(); }

void ElasticMember::Break(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (broken_ == making_) return;
  broken_ = making_;
  why_ = why;
  if (breakable_ != nullptr) breakable_->Break(why);
}

std::string ElasticMember::why_broken() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return why_;
}

void ElasticMember::Leave() {
  if (world_ == nullptr) return;
  world_->Break("this rank leaves");
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    breakable_ = nullptr;
  }
  world_.reset();
}

void ElasticMember::BeginIteration() {
  const double now = clock().Now();
  if (iteration_at_ > 0) longest_ = std::max(longest_, now - iteration_at_);
  iteration_at_ = now;
}

double ElasticMember::BusySeconds() const {
  const double stall = options_.watch.stall_seconds;
  return longest_ > 0 ? std::min(stall, std::max(options_.busy_seconds, 3 * longest_)) : stall;
}

bool ElasticMember::NewcomersFit() const {
  const int waiting = server_->newcomers();
  if (waiting == 0 || roster_.rank != 0) return false;
  const int size = static_cast<int>(roster_.places.size());
  return options_.Usable(size + waiting) > size;
}

int ElasticMember::newest_rank() const {
  int newest = -1;
  int64_t iteration = -1;
  for (size_t r = 0; r < roster_.places.size(); ++r) {
    if (roster_.places[r].iteration <= iteration) continue;
    iteration = roster_.places[r].iteration;
    newest = static_cast<int>(r);
  }
  return newest;
}

bool ElasticMember::some_are_behind() const {
  const auto& places = roster_.places;
  return std::any_of(places.begin(), places.end(), [&](const ElasticPlace& place) {
    return place.iteration != places[0].iteration;
  });
}

ProcessWorld* ElasticMember::Meet(int64_t iteration) {
  Leave();
  stuck_.clear();
  for (;;) {
    Socket team;
    ElasticRoster roster = Gather(iteration, &team);
    iteration_at_ = longest_ = 0;
    if (MakeWorld(std::move(roster), team)) return world_.get();
  }
}

// Returns the roster of the next world, in which this process listens with *team.
ElasticRoster ElasticMember::Gather(int64_t iteration, Socket* team) {
  *team = OpenListener(GetText(options_.identity.host), "", kBacklog, &team_);
  if (!team->open())
    throw PeerError(GetText(options_.identity.host), " cannot listen for other ranks");
  ElasticRoster roster;
  const bool begins = options_.rendezvous.rank == 0 && !options_.joins;
  if (roster_.places.empty() && begins) {
    server_->SetMode(JoinServer::Mode::kHosting, 0, true);
    // Otherwise a run may have begun here already, and this process is a newcomer.
    if (server_->HasPublicPort() && Host(iteration, &roster)) return roster;
  }
  if (roster_.places.empty() || !Seek(iteration, &roster)) JoinAsNewcomer(&roster);
  return roster;
}

ElasticRequest ElasticMember::MakeRequest(ElasticRequest::Kind kind, int64_t iteration) {
  const std::string addresses = OwnAddresses(options_.rendezvous.interface);
  ElasticRequest request = {};
  request.kind = kind;
  request.number = number_;
  request.rank = roster_.places.empty() ? options_.rendezvous.rank : roster_.rank;
  request.epoch = roster_.epoch;
  request.iteration = iteration;
  request.training = options_.training;
  request.identity = options_.identity;
  request.listener = server_->listener();
  PutText(addresses, request.listener.addresses);
  request.team = team_;
  PutText(addresses, request.team.addresses);
  return request;
}

// Meets the other members of the last world. Returns false if they train without this one.
bool ElasticMember::Seek(int64_t iteration, ElasticRoster* roster) {
  for (;; std::this_thread::sleep_for(kTryAgain)) {
    server_->SetMode(JoinServer::Mode::kSearching, roster_.epoch, false);
    const std::vector<ElasticPlace> lower(roster_.places.begin(),
                                          roster_.places.begin() + roster_.rank);
    const std::vector<Presence> found =
        ProbeAll(lower, options_.Key(), &clock(), MakeRequest(ElasticRequest::kProbe, iteration));
    const ElasticPlace* host = nullptr;
    for (size_t r = 0; r < lower.size(); ++r) {
      if (found[r].health != Health::kAlive) continue;
      if (found[r].epoch > roster_.epoch) return false;
      if (host == nullptr && stuck_.count(lower[r].number) == 0) host = &lower[r];
    }
    if (host == nullptr) {
      server_->SetMode(JoinServer::Mode::kHosting, roster_.epoch, true);
      const bool held = Host(iteration, roster);
      if (held || roster->epoch < 0) return held;
      continue;
    }
    const Entered entered = Enter(*host, iteration, roster);
    if (entered != Entered::kLost) return entered == Entered::kRoster;
  }
}

// Returns true with the roster of the next world. Returns false if another member is the host, or
// with roster->epoch = -1 if the others train without this process.
bool ElasticMember::Host(int64_t iteration, ElasticRoster* roster) {
  hosted_ = true;
  ElasticHost::Place place;
  place.own = MakeRequest(ElasticRequest::kRejoin, iteration);
  place.members = roster_.places;
  place.stuck = stuck_;
  place.busy_seconds = BusySeconds();
  const ElasticHost::End end = ElasticHost(options_, server_.get(), place).Hold(roster);
  roster->rank = 0;
  if (end == ElasticHost::End::kExcluded) roster->epoch = -1;
  return end == ElasticHost::End::kHeld;
}

ElasticMember::Entered ElasticMember::Enter(const ElasticPlace& host, int64_t iteration,
                                            ElasticRoster* roster) {
  Socket socket;
  const bool by_route = options_.rendezvous.interface.empty();
  const Reached reached = SendElasticRequest(
      SplitAt(GetText(host.listener.addresses), ','), host.listener.port, options_.Key(), by_route,
      kRequestSeconds, &clock(), MakeRequest(ElasticRequest::kRejoin, iteration), &socket);
  if (reached != Reached::kYes) return Entered::kLost;
  hosted_ = false;
  server_->SetMode(JoinServer::Mode::kWaiting, roster_.epoch, false);
  return Await(socket, &host, roster);
}

// Waits for the end of a rendezvous. `host` is null for a newcomer, who may have to wait for long.
ElasticMember::Entered ElasticMember::Await(const Socket& socket, const ElasticPlace* host,
                                            ElasticRoster* roster) {
  FailureDetector detector(&clock(), {Limit::kHost, kHeartbeatSeconds},
                           {Limit::kRejoin, BusySeconds()});
  detector.Add("the host");
  ElasticAnswer answer;
  for (int64_t heartbeats = 1; ReceiveAnswer(socket, kHeartbeatSeconds, &answer); ++heartbeats) {
    std::string text;
    switch (answer.kind) {
      case ElasticAnswer::kHeartbeat: {
        if (host == nullptr) ThrowIfInterrupted();
        // A host that still trains does not come to the rendezvous.
        const bool trains = answer.count == static_cast<int64_t>(JoinServer::Mode::kTraining);
        detector.Heard(0, trains ? 0 : heartbeats, -1);
        if (host == nullptr || detector.HealthOf(0) != Health::kStalled) continue;
        stuck_.insert(host->number);
        return Entered::kLost;
      }
      case ElasticAnswer::kExcluded:
        return Entered::kExcluded;
      case ElasticAnswer::kRoster:
        return TakeRoster(socket, answer, roster);
      default:
        if (!ReceiveRest(socket, answer.bytes, &text)) return Entered::kLost;
        if (answer.kind == ElasticAnswer::kMixed) throw MixedRanks(text);
        if (answer.kind == ElasticAnswer::kMissing) throw UnreachableRank(text);
        throw UsageError(GetText(options_.identity.host), " cannot join the run: ", text);
    }
  }
  return Entered::kLost;
}

ElasticMember::Entered ElasticMember::TakeRoster(const Socket& socket, const ElasticAnswer& answer,
                                                 ElasticRoster* roster) const {
  const auto bytes = answer.count * static_cast<int64_t>(sizeof(ElasticPlace));
  std::string places, text;
  if (!ReceiveRest(socket, bytes, &places) || !ReceiveRest(socket, answer.bytes, &text))
    return Entered::kLost;
  roster->epoch = answer.epoch;
  roster->places.resize(answer.count);
  std::memcpy(roster->places.data(), places.data(), places.size());
  roster->left = text.substr(0, text.find('\n'));
  roster->came = text.substr(text.find('\n') + 1);
  for (size_t r = 0; r < roster->places.size(); ++r) {
    if (roster->places[r].number == number_) roster->rank = static_cast<int>(r);
  }
  return Entered::kRoster;
}

void ElasticMember::ThrowIfInterrupted() const {
  if (options_.Interrupted())
    throw Error(ExitCode::kStopped, "stopped by a signal while waiting to become a rank");
}

// Becomes a rank of a world that the leader forms, as a newcomer without a state.
void ElasticMember::JoinAsNewcomer(ElasticRoster* roster) {
  const std::vector<std::string> addresses = LeaderAddresses();
  const bool new_here = roster_.places.empty();
  roster_ = {};
  hosted_ = false;
  server_->SetMode(JoinServer::Mode::kWaiting, 0, false);
  double begun = clock().Now();
  const std::string name =
      "rank " + std::to_string(options_.rendezvous.rank) + " on " + GetText(options_.identity.host);
  const std::string place =
      "port " + std::to_string(options_.rendezvous.port) + " of " + Join(addresses);
  std::string why = "no answer";
  while (clock().Now() - begun < options_.rendezvous.seconds) {
    bool other_secret = false, reached = false;
    for (const std::string& address : addresses) {
      Socket socket;
      const Reached tried =
          SendElasticRequest({address}, options_.rendezvous.port, options_.Key(),
                             options_.rendezvous.interface.empty(), kRequestSeconds, &clock(),
                             MakeRequest(ElasticRequest::kJoin, -1), &socket);
      other_secret = other_secret || tried == Reached::kOtherSecret;
      if (tried == Reached::kOtherVersion) why = "its ranks train without --elastic";
      if (tried == Reached::kYes) {
        if (Await(socket, nullptr, roster) == Entered::kRoster) return;
        reached = true;
        begun = clock().Now();
      }
    }
    // A process that has been a rank waits: another job may use the port until its leader is back.
    if (other_secret && !reached && new_here) {
      hosted_ = true;
      throw OtherSecret(name, "the elastic training at " + place);
    }
    if (other_secret) why = "the secret differs, or the jobs do";
    ThrowIfInterrupted();
    std::this_thread::sleep_for(kTryAgain);
  }
  hosted_ = true;  // no other process knows of this failure
  throw UnreachableRank(StrCat(name, " finds no elastic training at ", place, " within ",
                               static_cast<int>(options_.rendezvous.seconds), " s: ", why,
                               "; check MASTER_ADDR, MASTER_PORT and DOPPIO_ELASTIC_HOSTS"));
}

// The leader is on the machine of rank 0 of the first world, or on that of another rank.
std::vector<std::string> ElasticMember::LeaderAddresses() const {
  std::vector<std::string> addresses = {options_.rendezvous.address};
  const auto add = [&](const std::string& address) {
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  };
  for (const std::string& host : options_.hosts) add(host);
  for (const ElasticPlace& place : roster_.places) {
    for (const std::string& address : SplitAt(GetText(place.listener.addresses), ',')) add(address);
  }
  return addresses;
}

WatchOptions ElasticMember::OwnWatch() {
  WatchOptions watch = options_.watch;
  watch.on_lost = [this](const WatchOptions::Loss& loss) {
    if (loss.launcher && options_.watch.on_lost) return options_.watch.on_lost(loss);
    Break(loss.message);
  };
  return watch;
}

// Connects the ranks of `roster`. Returns false if one of them is lost meanwhile; the others meet
// again as its members.
bool ElasticMember::MakeWorld(ElasticRoster roster, const Socket& team) {
  roster_ = std::move(roster);
  server_->SetMode(JoinServer::Mode::kTraining, roster_.epoch, roster_.rank == 0);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    making_ = roster_.epoch;
  }
  std::vector<RankListener> listeners;
  for (const ElasticPlace& place : roster_.places) listeners.push_back(place.team);
  try {
    world_ = MakeTcpWorld(roster_.rank, listeners, team, OwnWatch());
  } catch (const PeerError& e) {
    LOG(WARNING) << e.message() << "; the ranks meet again";
    return false;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  breakable_ = world_.get();
  if (broken_ == making_) world_->Break(why_);
  return true;
}

}  // namespace doppio
