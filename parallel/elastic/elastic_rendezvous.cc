#include "parallel/elastic/elastic_rendezvous.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/text/join.h"
#include "core/base/text/split_at.h"
#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/tcp/rendezvous.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

constexpr double kRequestSeconds = 2;
constexpr double kHeartbeatSeconds = DefaultSeconds(Limit::kHost);  // a host sends one each second
constexpr int kBacklog = 64;
constexpr std::chrono::milliseconds kTryAgain(200);

}  // namespace

void ElasticRendezvous::Begin(int64_t iteration) {
  iteration_ = iteration;
  stuck_.clear();
}

Socket ElasticRendezvous::Meet() {
  Socket team = OpenListener(GetText(options_.identity.host), "", kBacklog, &team_);
  if (!team.open())
    throw PeerError(GetText(options_.identity.host), " cannot listen for other ranks");
  ElasticRoster roster;
  bool found = false;
  if (roster_.places.empty()) {
    if (options_.rendezvous.rank == 0 && !options_.joins) {
      // Without the public port, a run may have begun here already, and this process is a newcomer.
      found = server_->SetMode(JoinServer::Mode::kHosting, 0, true) &&
              Host(&roster) == RendezvousEnd::kFormed;
    }
  } else {
    found = Seek(&roster);
  }
  if (!found) JoinAsNewcomer(&roster);
  roster_ = std::move(roster);
  return team;
}

ElasticRequest ElasticRendezvous::MakeRequest(ElasticRequest::Kind kind) const {
  const std::string addresses = OwnAddresses(options_.rendezvous.interface);
  ElasticRequest request = {};
  request.kind = kind;
  request.number = number_;
  request.rank = roster_.places.empty() ? options_.rendezvous.rank : roster_.rank;
  request.epoch = roster_.epoch;
  request.iteration = kind == ElasticRequest::kJoin ? -1 : iteration_;
  request.training = options_.training;
  request.identity = options_.identity;
  request.listener = server_->listener();
  PutText(addresses, request.listener.addresses);
  request.team = team_;
  PutText(addresses, request.team.addresses);
  return request;
}

Reached ElasticRendezvous::Send(ElasticRequest::Kind kind,
                                const std::vector<std::string>& addresses, int64_t port,
                                Socket* socket) const {
  return SendElasticRequest(addresses, port, options_.Key(), options_.rendezvous.interface.empty(),
                            kRequestSeconds, &clock(), MakeRequest(kind), socket);
}

// Meets the other members of the last world. Returns false if they train without this one.
bool ElasticRendezvous::Seek(ElasticRoster* roster) {
  for (;; std::this_thread::sleep_for(kTryAgain)) {
    server_->SetMode(JoinServer::Mode::kSearching, roster_.epoch, false);
    const std::vector<ElasticPlace> lower(roster_.places.begin(),
                                          roster_.places.begin() + roster_.rank);
    const std::vector<Presence> found =
        ProbeAll(lower, options_.Key(), &clock(), MakeRequest(ElasticRequest::kProbe));
    const ElasticPlace* host = nullptr;
    for (size_t r = 0; r < lower.size(); ++r) {
      if (found[r].health != Health::kAlive) continue;
      if (found[r].epoch > roster_.epoch) return false;
      if (host == nullptr && stuck_.count(lower[r].number) == 0) host = &lower[r];
    }
    RendezvousEnd end;
    if (host == nullptr) {
      server_->SetMode(JoinServer::Mode::kHosting, roster_.epoch, true);
      end = Host(roster);
    } else {
      end = Enter(*host, roster);
    }
    if (end != RendezvousEnd::kMoved) return end == RendezvousEnd::kFormed;
  }
}

RendezvousEnd ElasticRendezvous::Host(ElasticRoster* roster) {
  hosted_ = true;
  ElasticHost::Place place;
  place.own = MakeRequest(ElasticRequest::kRejoin);
  place.members = roster_.places;
  place.stuck = stuck_;
  place.busy_seconds = rejoin_limit_.Seconds();
  return ElasticHost(options_, server_, place).Hold(roster);
}

RendezvousEnd ElasticRendezvous::Enter(const ElasticPlace& host, ElasticRoster* roster) {
  Socket socket;
  const Reached reached =
      Send(ElasticRequest::kRejoin, SplitAt(GetText(host.listener.addresses), ','),
           host.listener.port, &socket);
  if (reached != Reached::kYes) return RendezvousEnd::kMoved;
  hosted_ = false;
  server_->SetMode(JoinServer::Mode::kWaiting, roster_.epoch, false);
  return Await(socket, &host, roster);
}

// Waits for the end of a rendezvous. `host` is null for a newcomer, who may have to wait for long.
RendezvousEnd ElasticRendezvous::Await(const Socket& socket, const ElasticPlace* host,
                                       ElasticRoster* roster) {
  FailureDetector detector(&clock(), {Limit::kHost, kHeartbeatSeconds},
                           {Limit::kRejoin, rejoin_limit_.Seconds()});
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
        return RendezvousEnd::kMoved;
      }
      case ElasticAnswer::kExcluded:
        return RendezvousEnd::kExcluded;
      case ElasticAnswer::kRoster:
        return TakeRoster(socket, answer, roster);
      default:
        if (!ReceiveRest(socket, answer.bytes, &text)) return RendezvousEnd::kMoved;
        if (answer.kind == ElasticAnswer::kMixed) throw MixedRanks(text);
        if (answer.kind == ElasticAnswer::kMissing) throw UnreachableRank(text);
        throw UsageError(GetText(options_.identity.host), " cannot join the run: ", text);
    }
  }
  return RendezvousEnd::kMoved;
}

RendezvousEnd ElasticRendezvous::TakeRoster(const Socket& socket, const ElasticAnswer& answer,
                                            ElasticRoster* roster) const {
  const auto bytes = answer.count * static_cast<int64_t>(sizeof(ElasticPlace));
  std::string places, text;
  if (!ReceiveRest(socket, bytes, &places) || !ReceiveRest(socket, answer.bytes, &text))
    return RendezvousEnd::kMoved;
  roster->epoch = answer.epoch;
  roster->places.resize(answer.count);
  std::memcpy(roster->places.data(), places.data(), places.size());
  roster->left = text.substr(0, text.find('\n'));
  roster->came = text.substr(text.find('\n') + 1);
  for (size_t r = 0; r < roster->places.size(); ++r) {
    if (roster->places[r].number == number_) roster->rank = static_cast<int>(r);
  }
  return RendezvousEnd::kFormed;
}

void ElasticRendezvous::ThrowIfInterrupted() const {
  if (options_.Interrupted())
    throw Error(ExitCode::kStopped, "stopped by a signal while waiting to become a rank");
}

// Becomes a rank of a world that the leader forms, as a newcomer without a state.
void ElasticRendezvous::JoinAsNewcomer(ElasticRoster* roster) {
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
          Send(ElasticRequest::kJoin, {address}, options_.rendezvous.port, &socket);
      other_secret = other_secret || tried == Reached::kOtherSecret;
      if (tried == Reached::kOtherVersion) why = "its ranks train without --elastic";
      if (tried == Reached::kYes) {
        if (Await(socket, nullptr, roster) == RendezvousEnd::kFormed) return;
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
std::vector<std::string> ElasticRendezvous::LeaderAddresses() const {
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

}  // namespace doppio
