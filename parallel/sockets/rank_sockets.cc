#include "parallel/sockets/rank_sockets.h"

#include <algorithm>

#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/meeting/limits.h"

namespace doppio {
namespace {

// A rank that cannot connect knows the reason better than rank 0, so it gives up first.
constexpr double kAcceptSeconds = DefaultSeconds(Limit::kWatchConnect);
constexpr double kConnectSeconds = kAcceptSeconds - 2;

// Collective. Throws one rank's problem on all ranks. Prefers the problem of the highest rank,
// because rank 0 only knows that another rank is missing.
void AgreeOn(Communicator* control, const std::string& problem) {
  const std::vector<std::string> problems = GatherTexts(control, problem);
  const auto found = std::find_if(problems.rbegin(), problems.rend(),
                                  [](const std::string& text) { return !text.empty(); });
  if (found != problems.rend()) throw UnreachableRank(*found);
}

}  // namespace

std::vector<RankSocket> ConnectRanks(Communicator* control, const std::string& host,
                                     const TimeSource* clock) {
  const int rank = control->rank(), size = control->size();
  if (size == 1) return {};
  RankListener listener = {};
  Socket listening;
  if (rank == 0) listening = OpenListener(host, OwnAddresses(), size, &listener);
  control->Broadcast(&listener, sizeof listener, 0);
  if (listener.port == 0)
    throw UnreachableRank("rank 0 on " + GetText(listener.host) +
                          " cannot listen for the other ranks");
  control->Barrier();  // no rank may arrive after the time to connect has started

  std::vector<RankSocket> sockets;
  std::string problem;
  if (rank == 0) {
    sockets = AcceptRanks(listening, listener.token, 1, size, kAcceptSeconds, clock);
    if (static_cast<int>(sockets.size()) + 1 < size) {
      problem = StrCat("only ", sockets.size(), " of ", size - 1, " ranks have reached rank 0 on ",
                       GetText(listener.host), " at ", listener.Where(), " within ",
                       static_cast<int>(kAcceptSeconds), " s");
    }
  } else {
    sockets.resize(1);
    sockets[0].host = GetText(listener.host);
    sockets[0].socket = ConnectToRank(listener, rank, host, kConnectSeconds, clock);
    if (!sockets[0].socket.open()) {
      problem =
          StrCat("rank ", rank, " on ", host, " cannot reach rank 0 on ", GetText(listener.host),
                 " at ", listener.Where(), "; check for a firewall between them");
    }
  }
  AgreeOn(control, problem);
  return sockets;
}

}  // namespace doppio
