#include "parallel/tcp/tcp_world.h"

#include <algorithm>
#include <exception>
#include <numeric>

#include "core/base/file.h"
#include "core/base/host_name.h"
#include "parallel/meeting/texts.h"
#include "parallel/tcp/rendezvous.h"
#include "parallel/tcp/tcp_team.h"
#include "parallel/world/team_world.h"

namespace doppio {
namespace {

// The message that each rank sends to all others when a group is formed.
struct GroupEntry {
  int64_t color;
  char machine[64];
  RankListener control, bulk;
};

// Processes on one machine share the identifier of its boot.
std::string MachineName() {
  try {
    return ReadFile("/proc/sys/kernel/random/boot_id");
  } catch (const FileError&) {
    return HostName();
  }
}

class TcpTransport : public Transport {
 public:
  TcpTransport(int rank, const std::vector<RankListener>& listeners, const Socket& listening,
               const TeamTimes& times)
      : host_(HostName()), exceptions_(std::uncaught_exceptions()), times_(times) {
    std::vector<int> ranks(listeners.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    addresses_ = GetText(listeners[rank].addresses);
    root_ = MakeTcpTeam(rank, listeners, ranks, listening, times);
  }

  // A rank must not end its connections while others still use them. A rank that fails does not
  // wait.
  ~TcpTransport() override {
    if (root_ == nullptr || std::uncaught_exceptions() > exceptions_) return;
    try {
      root_->Barrier();
    } catch (const PeerError&) {
      // Ignored: the watch reports lost ranks.
    }
  }

  void Abort(const std::string& why) override { root_->Abort(why); }
  TeamPair All() override { return Among(0, false); }
  TeamPair Group(int color) override { return Among(color, false); }
  TeamPair Machine() override { return Among(0, true); }

 private:
  // Forms the groups of ranks with equal colors and, if `by_machine`, on equal machines.
  TeamPair Among(int color, bool by_machine) {
    const int rank = root_->rank(), size = root_->size();
    std::vector<GroupEntry> entries(size);
    GroupEntry& own = entries[rank];
    own.color = color;
    PutText(by_machine ? MachineName() : "", own.machine);
    const Socket control = OpenListener(host_, addresses_, size, &own.control);
    const Socket bulk = OpenListener(host_, addresses_, size, &own.bulk);
    for (int r = 0; r < size; ++r) root_->Broadcast(&entries[r], sizeof entries[r], r);
    if (color == kNoColor) return {};
    int place = 0;
    std::vector<int> ranks;
    std::vector<RankListener> control_listeners, bulk_listeners;
    for (int r = 0; r < size; ++r) {
      if (entries[r].color != color || GetText(entries[r].machine) != GetText(own.machine))
        continue;
      if (r == rank) place = static_cast<int>(ranks.size());
      ranks.push_back(r);
      control_listeners.push_back(entries[r].control);
      bulk_listeners.push_back(entries[r].bulk);
    }
    TeamPair pair;
    pair.control = MakeTcpTeam(place, control_listeners, ranks, control, times_);
    pair.bulk = MakeTcpTeam(place, bulk_listeners, ranks, bulk, times_);
    return pair;
  }

  const std::string host_;
  const int exceptions_;
  const TeamTimes times_;
  std::string addresses_;  // of this rank, at which the others reach it
  std::unique_ptr<Team> root_;
};

std::string DescribeTcp(const ProcessWorldOptions& options) {
  const RendezvousOptions& rendezvous = options.rendezvous;
  return "TCP (rank 0 at " + rendezvous.address + " port " + std::to_string(rendezvous.port) + ")";
}

std::unique_ptr<ProcessWorld> MakeTcp(const ProcessWorldOptions& options) {
  const int rank = options.rendezvous.rank;
  const Roster roster =
      MeetRanks(options.rendezvous, IdentityOf(HostName(), options.program, "TCP"));
  return MakeTeamWorld(
      std::make_unique<TcpTransport>(rank, roster.listeners, roster.listening, TeamTimes()),
      options.watch);
}

DOPPIO_REGISTER(ProcessWorlds, "tcp", {&DescribeTcp, &MakeTcp});

}  // namespace

std::unique_ptr<ProcessWorld> MakeTcpWorld(int rank, const std::vector<RankListener>& listeners,
                                           const Socket& listening, const WatchOptions& watch) {
  constexpr TeamTimes kTimes = {DefaultSeconds(Limit::kElasticConnect),
                                DefaultSeconds(Limit::kElasticIdle)};
  return MakeTeamWorld(std::make_unique<TcpTransport>(rank, listeners, listening, kTimes), watch);
}

}  // namespace doppio
