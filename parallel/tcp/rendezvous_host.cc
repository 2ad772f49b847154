#include "parallel/tcp/rendezvous_host.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <optional>

#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/tcp/requests.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

constexpr double kReplySeconds = DefaultSeconds(Limit::kRequest);

struct Member {
  Socket socket;  // closed for rank 0
  Entry entry;
};

class RendezvousHost {
 public:
  RendezvousHost(const RendezvousOptions& options, const std::string& key, const RankIdentity& own)
      : options_(options),
        requests_(key, options.size, options.seconds, options.clock),
        members_(options.size) {
    int64_t port = options.port;
    listening_ = Listen(options.size, &port);
    if (!listening_.open()) {
      throw UsageError("rank 0 on ", GetText(own.host), " cannot listen at port ", options.port,
                       " for the other ranks: ", std::strerror(errno),
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
    std::string text = StrCat(
        "only ", options_.size - Missing(), " of ", options_.size, " ranks have come to rank 0 on ",
        GetText(members_[0]->entry.identity.host), " at port ", options_.port, " within ",
        static_cast<int>(options_.seconds), " s; missing: rank ", ranks);
    if (requests_.other_secrets() > 0)
      text +=
          ". " + std::to_string(requests_.other_secrets()) + " connection(s) had another secret";
    return text;
  }

  void Wait(double until) {
    std::vector<pollfd> waits = {{listening_.get(), POLLIN, 0}};
    requests_.AddTo(&waits);
    options_.clock->Poll(waits.data(), waits.size(), until);
    for (auto& received : requests_.Read()) Admit(std::move(received.socket), received.request);
    if (waits[0].revents != 0) requests_.Accept(listening_);
  }

  // Makes a rank that has sent its entry a member.
  void Admit(Socket socket, const Entry& entry) {
    const std::string name =
        "rank " + std::to_string(entry.rank) + " on " + GetText(entry.identity.host);
    if (entry.size != options_.size) {
      problem_ =
          StrCat(name, " was started as one of ", entry.size, " ranks, and rank 0 as one of ",
                 options_.size, "; set WORLD_SIZE alike on all ranks");
    } else if (entry.rank < 0 || entry.rank >= options_.size || members_[entry.rank]) {
      const bool known = entry.rank >= 0 && entry.rank < options_.size;
      problem_ =
          StrCat("two processes are rank ", entry.rank, ", on ",
                 known ? GetText(members_[entry.rank]->entry.identity.host) : "no machine",
                 " and on ", GetText(entry.identity.host), "; give each process its own RANK");
    }
    if (!problem_.empty()) {
      rejected_.push_back(std::move(socket));
      return;
    }
    members_[entry.rank] = Member{std::move(socket), entry};
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
    // The other ranks then reach rank 0 on the same network as now.
    const std::string routes = requests_.routes();
    const bool by_route = options_.interface.empty() && !routes.empty();
    PutText(by_route ? routes : OwnAddresses(options_.interface),
            members_[0]->entry.listener.addresses);
    Roster roster;
    for (const auto& member : members_) roster.listeners.push_back(member->entry.listener);
    roster.listening = std::move(listener_);
    const auto* const bytes = reinterpret_cast<const char*>(roster.listeners.data());
    Send(Verdict::kListeners, std::string(bytes, roster.listeners.size() * sizeof(RankListener)));
    return roster;
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
    for (const Socket& socket : rejected_) send(socket);
  }

  const RendezvousOptions& options_;
  Socket listening_, listener_;
  RequestServer<Entry> requests_;
  std::vector<std::optional<Member>> members_;  // by rank
  std::vector<Socket> rejected_;                // of ranks that do not fit
  std::string problem_;
};

}  // namespace

Roster HostRendezvous(const RendezvousOptions& options, const std::string& key,
                      const RankIdentity& own) {
  return RendezvousHost(options, key, own).Run();
}

}  // namespace doppio
