#include "parallel/tcp/rendezvous_host.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/tcp/rendezvous_messages.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

constexpr double kReplySeconds = 10;

// A connection whose other side has not yet proved that it is a rank.
struct Guest {
  Socket socket;
  Greeting own;
  std::string received;
  bool greeted = false;
};

struct Member {
  Socket socket;  // closed for rank 0
  Entry entry;
};

class RendezvousHost {
 public:
  RendezvousHost(const RendezvousOptions& options, const std::string& key, const RankIdentity& own)
      : options_(options), key_(key), members_(options.size) {
    int64_t port = options.port;
    listening_ = Listen(options.size, &port);
    if (!listening_.open()) {
      throw UsageError("rank 0 on " + GetText(own.host) + " cannot listen at port " +
                       std::to_string(options.port) +
                       " for the other ranks: " + std::strerror(errno) +
                       "; set MASTER_PORT to a free port, the same for all ranks");
    }
    members_[0].emplace();
    Entry& entry = members_[0]->entry;
    entry = {};
    entry.size = options.size;
    entry.identity = own;
    const std::string host = GetText(own.host);
    const std::string problem = InterfaceProblem(options.interface, host);
    if (problem.empty()) {
      listener_ = OpenListener(host, "", options.size, &entry.listener);
    } else {
      entry.listener = ClosedListener(host, problem);
    }
  }

  Roster Run() {
    const double until = options_.clock->Now() + options_.seconds;
    while (problem_.empty() && Missing() > 0) {
      if (options_.clock->Now() >= until) {
        Send(Verdict::kMissing, MissingText());
        throw UnreachableRank(MissingText());
      }
      Wait(until);
    }
    if (problem_.empty()) problem_ = Difference();
    if (!problem_.empty()) {
      Send(Verdict::kMixed, problem_);
      throw MixedRanks(problem_);
    }
    return Introduce();
  }

 private:
  int64_t Missing() const {
    return std::count_if(members_.begin(), members_.end(),
                         [](const auto& member) { return !member; });
  }

  std::string MissingText() const {
    std::string ranks;
    for (int r = 0; r < options_.size; ++r) {
      if (!members_[r]) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    std::string text = "only " + std::to_string(options_.size - Missing()) + " of " +
                       std::to_string(options_.size) + " ranks have come to rank 0 on " +
                       GetText(members_[0]->entry.identity.host) + " at port " +
                       std::to_string(options_.port) + " within " +
                       std::to_string(static_cast<int>(options_.seconds)) + " s; missing: rank " +
                       ranks;
    if (strangers_ > 0)
      text += ". " + std::to_string(strangers_) + " connection(s) had another secret";
    return text;
  }

  void Wait(double until) {
    std::vector<pollfd> waits = {{listening_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) waits.push_back({guest.socket.get(), POLLIN, 0});
    options_.clock->Poll(waits.data(), waits.size(), until);
    for (size_t i = guests_.size(); i-- > 0;) {
      if (waits[i + 1].revents == 0) continue;
      if (!Hear(&guests_[i]) || !guests_[i].socket.open()) guests_.erase(guests_.begin() + i);
    }
    if (waits[0].revents == 0) return;
    Socket socket = AcceptPending(listening_, options_.size, &guests_);
    if (socket.open()) guests_.push_back({std::move(socket), NewGreeting(), "", false});
  }

  // Reads what `guest` has sent. Returns false if the connection is to be dropped.
  bool Hear(Guest* guest) {
    char bytes[sizeof(Entry)];
    const size_t wanted = guest->greeted ? sizeof(Greeting) + sizeof(Entry) : sizeof(Greeting);
    const ssize_t count = recv(guest->socket.get(), bytes,
                               std::min(sizeof bytes, wanted - guest->received.size()), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    guest->received.append(bytes, count);
    if (!guest->greeted) {
      if (guest->received.size() < sizeof(Greeting)) return true;
      return AnswerGreeting(guest);
    }
    if (guest->received.size() < sizeof(Greeting) + sizeof(Entry)) return true;
    return Admit(guest);
  }

  bool AnswerGreeting(Guest* guest) {
    Greeting greeting;
    std::memcpy(&greeting, guest->received.data(), sizeof greeting);
    if (!IsGreeting(greeting)) return false;
    guest->greeted = true;
    const Challenge challenge = {HostProof(key_, greeting.nonce, guest->own.nonce)};
    if (!SendAll(guest->socket, &guest->own, sizeof guest->own, kReplySeconds)) return false;
    // A rank with another version has understood the Greeting, and tells the user.
    if (greeting.version != kRendezvousVersion) return false;
    return SendAll(guest->socket, &challenge, sizeof challenge, kReplySeconds);
  }

  // Makes a guest that has sent its entry a member.
  bool Admit(Guest* guest) {
    Greeting greeting;
    Entry entry;
    std::memcpy(&greeting, guest->received.data(), sizeof greeting);
    std::memcpy(&entry, guest->received.data() + sizeof greeting, sizeof entry);
    if (!SameDigest(entry.proof, ClientProof(key_, greeting.nonce, guest->own.nonce, entry))) {
      ++strangers_;
      return false;
    }
    const std::string name =
        "rank " + std::to_string(entry.rank) + " on " + GetText(entry.identity.host);
    if (entry.size != options_.size) {
      problem_ = name + " was started as one of " + std::to_string(entry.size) +
                 " ranks, and rank 0 as one of " + std::to_string(options_.size) +
                 "; set WORLD_SIZE alike on all ranks";
    } else if (entry.rank < 0 || entry.rank >= options_.size || members_[entry.rank]) {
      const bool known = entry.rank >= 0 && entry.rank < options_.size;
      problem_ = "two processes are rank " + std::to_string(entry.rank) + ", on " +
                 (known ? GetText(members_[entry.rank]->entry.identity.host) : "no machine") +
                 " and on " + GetText(entry.identity.host) + "; give each process its own RANK";
    }
    if (!problem_.empty()) {
      last_ = std::move(guest->socket);
      return false;
    }
    const std::string route = RouteAddress(guest->socket);
    if (!route.empty() && std::find(routes_.begin(), routes_.end(), route) == routes_.end())
      routes_.push_back(route);
    members_[entry.rank].emplace();
    members_[entry.rank]->socket = std::move(guest->socket);
    members_[entry.rank]->entry = entry;
    return true;
  }

  // Returns why the ranks that have come cannot train together; "" if they can.
  std::string Difference() const {
    std::vector<RankIdentity> identities;
    for (const auto& member : members_) identities.push_back(member->entry.identity);
    std::string difference = DifferenceAmong(identities);
    if (!difference.empty()) return difference;
    const auto closed = std::find_if(members_.begin(), members_.end(), [](const auto& member) {
      return member->entry.listener.port == 0;
    });
    return closed == members_.end() ? "" : GetText((*closed)->entry.listener.addresses);
  }

  // Sends all ranks the listeners of all.
  Roster Introduce() {
    PutText(OwnListenerAddresses(), members_[0]->entry.listener.addresses);
    Roster roster;
    for (const auto& member : members_) roster.listeners.push_back(member->entry.listener);
    roster.listening = std::move(listener_);
    const auto* const bytes = reinterpret_cast<const char*>(roster.listeners.data());
    Send(Verdict::kListeners, std::string(bytes, roster.listeners.size() * sizeof(RankListener)));
    return roster;
  }

  // Returns the addresses at which ranks have come, so that they call rank 0 on the same network.
  std::string OwnListenerAddresses() const {
    if (!options_.interface.empty() || routes_.empty()) return OwnAddresses(options_.interface);
    std::string list;
    for (const std::string& route : routes_) list += (list.empty() ? "" : ",") + route;
    return list;
  }

  // Sends a verdict to all ranks that have come. A rank that does not receive it will notice that
  // rank 0 does not answer.
  void Send(Verdict::Kind kind, const std::string& text) const {
    const Verdict verdict = {kind, static_cast<int64_t>(text.size())};
    const auto send = [&](const Socket& socket) {
      if (socket.open() && SendAll(socket, &verdict, sizeof verdict, kReplySeconds))
        SendAll(socket, text.data(), verdict.bytes, kReplySeconds);
    };
    for (const auto& member : members_) {
      if (member) send(member->socket);
    }
    send(last_);
  }

  const RendezvousOptions& options_;
  const std::string key_;
  Socket listening_, listener_;
  std::vector<std::optional<Member>> members_;  // by rank
  std::vector<Guest> guests_;
  Socket last_;  // of a rank that does not fit
  std::vector<std::string> routes_;
  int strangers_ = 0;  // connections with another secret
  std::string problem_;
};

}  // namespace

Roster HostRendezvous(const RendezvousOptions& options, const std::string& key,
                      const RankIdentity& own) {
  return RendezvousHost(options, key, own).Run();
}

}  // namespace doppio
