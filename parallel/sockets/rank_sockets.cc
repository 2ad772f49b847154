#include "parallel/sockets/rank_sockets.h"

#include <algorithm>

#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"

namespace doppio {
namespace {

// A rank that cannot connect knows the reason better than rank 0, so it gives up first.
constexpr double kConnectSeconds = 5, kAcceptSeconds = 7;

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
  RankDoor door = {};
  Socket listening;
  if (rank == 0) listening = OpenDoor(host, OwnAddresses(), size, &door);
  control->Broadcast(&door, sizeof door, 0);
  if (door.port == 0)
    throw UnreachableRank("rank 0 on " + GetText(door.host) + " cannot listen for the other ranks");
  control->Barrier();  // no rank may arrive after the time to connect has started

  std::vector<RankSocket> sockets;
  std::string problem;
  if (rank == 0) {
    sockets = AnswerCalls(listening, door.token, 1, size, kAcceptSeconds, clock);
    if (static_cast<int>(sockets.size()) + 1 < size) {
      problem = "only " + std::to_string(sockets.size()) + " of " + std::to_string(size - 1) +
                " ranks have reached rank 0 on " + GetText(door.host) + " at " + door.Where() +
                " within " + std::to_string(static_cast<int>(kAcceptSeconds)) + " s";
    }
  } else {
    sockets.resize(1);
    sockets[0].host = GetText(door.host);
    sockets[0].socket = Call(door, rank, host, kConnectSeconds, clock);
    if (!sockets[0].socket.open()) {
      problem = "rank " + std::to_string(rank) + " on " + host + " cannot reach rank 0 on " +
                GetText(door.host) + " at " + door.Where() + "; check for a firewall between them";
    }
  }
  AgreeOn(control, problem);
  return sockets;
}

}  // namespace doppio
