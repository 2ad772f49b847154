#include "parallel/tcp/rendezvous.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/log.h"
#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/tcp/rendezvous_host.h"
#include "parallel/tcp/requests.h"
#include "parallel/meeting/limits.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

constexpr double kAddressSeconds = 3;  // for one of several addresses
constexpr double kAnswerSeconds = DefaultSeconds(Limit::kRequest);
constexpr std::chrono::milliseconds kAgain(200);

// A rank's side of the rendezvous, unless it is rank 0.
class RendezvousClient {
 public:
  RendezvousClient(const RendezvousOptions& options, const std::string& key,
                   const RankIdentity& own)
      : options_(options),
        key_(key),
        own_(own),
        name_("rank " + std::to_string(options.rank) + " on " + GetText(own.host)),
        host_("rank 0 at " + options.address + " port " + std::to_string(options.port)) {}

  Roster Run() {
    Connect();
    Roster roster;
    roster.listening = Enter();
    Verdict verdict;
    // Rank 0 waits for the last rank.
    if (!ReceiveAll(socket_, &verdict, sizeof verdict, options_.seconds + kAnswerSeconds)) Lost();
    if (verdict.bytes < 0 || verdict.bytes > (int64_t{1} << 30)) Lost();
    std::string text(verdict.bytes, '\0');
    if (!ReceiveAll(socket_, text.data(), verdict.bytes, kAnswerSeconds)) Lost();
    if (verdict.kind == Verdict::kMixed) throw MixedRanks(text);
    if (verdict.kind == Verdict::kMissing) throw UnreachableRank(text);
    roster.listeners.resize(options_.size);
    if (verdict.kind != Verdict::kListeners ||
        text.size() != roster.listeners.size() * sizeof(RankListener))
      Lost();
    std::memcpy(roster.listeners.data(), text.data(), text.size());
    return roster;
  }

 private:
  // Rank 0 may start later than this rank.
  void Connect() {
    const double begun = options_.clock->Now();
    for (;; std::this_thread::sleep_for(kAgain)) {
      Connection made = ConnectTo(options_.address, options_.port, kAddressSeconds);
      socket_ = std::move(made.socket);
      if (socket_.open()) return;
      if (options_.clock->Now() - begun <= options_.seconds) continue;
      throw PeerError(name_, " cannot reach ", host_, " within ",
                      static_cast<int>(options_.seconds), " s: ", made.why,
                      "; check MASTER_ADDR and MASTER_PORT, and that no firewall is in between");
    }
  }

  // Proves itself to rank 0, and reports where it listens.
  Socket Enter() {
    Entry entry = {};
    entry.rank = options_.rank;
    entry.size = options_.size;
    entry.identity = own_;
    Socket listening = OpenOwnListener(&entry.listener);
    int64_t version = 0;
    switch (SendRequest(socket_, key_, kAnswerSeconds, &entry, &version)) {
      case Reached::kYes:
        return listening;
      case Reached::kOtherVersion:
        throw UsageError(host_, " runs a Doppio with another rendezvous (version ", version,
                         ", here ", Entry::kVersion, "). Install the same build on all machines");
      case Reached::kOtherSecret:
        throw OtherSecret(name_, host_);
      case Reached::kLost:
        Lost();
      default:
        throw PeerError(name_, " gets no answer from ", host_,
                        "; another program may listen there: set MASTER_PORT to a free port, the "
                        "same for all ranks");
    }
  }

  // Listens for the other ranks. Without the network interface, *listener has the reason.
  Socket OpenOwnListener(RankListener* listener) const {
    const std::string host = GetText(own_.host);
    const std::string problem = InterfaceProblem(options_.interface, host);
    if (!problem.empty()) {
      *listener = ClosedListener(host, problem);
      return Socket();
    }
    const std::string route = RouteAddress(socket_);
    const bool by_route = options_.interface.empty() && !route.empty();
    return OpenListener(host, by_route ? route : OwnAddresses(options_.interface), options_.size,
                        listener);
  }

  [[noreturn]] void Lost() const {
    throw PeerError(name_, " has lost the connection to ", host_, " before all ranks were joined");
  }

  const RendezvousOptions& options_;
  const std::string key_;
  const RankIdentity own_;
  const std::string name_, host_;  // for messages
  Socket socket_;
};

}  // namespace

UsageError OtherSecret(const std::string& client, const std::string& host) {
  return UsageError(
      client, " has another secret than ", host,
      ": the ranks belong to different jobs, or DOPPIO_JOB_SECRET differs between them");
}

void WarnOfNoSecret(const RendezvousOptions& options) {
  if (!options.secret.empty()) return;
  LOG(WARNING) << "DOPPIO_JOB_SECRET is not set: every process that reaches port " << options.port
               << " of this machine can join the training; set it to the same random text for all "
                  "ranks";
}

Roster MeetRanks(const RendezvousOptions& options, const RankIdentity& own) {
  if (options.rank == 0) WarnOfNoSecret(options);
  const std::string key = options.job + '\n' + options.secret;
  return options.rank == 0 ? HostRendezvous(options, key, own)
                           : RendezvousClient(options, key, own).Run();
}

}  // namespace doppio
