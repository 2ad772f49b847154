#include "solvers/trainer/requests.h"

#include <chrono>
#include <thread>

namespace doppio {

Agreement AgreeOnRequests(const TrainerOptions& options, bool admits) {
  // A launcher's signal reaches all its processes within this time.
  constexpr std::chrono::milliseconds kSignalSpread(500);
  const auto& elastic = options.elastic;
  const int ranks = options.world == nullptr ? 1 : options.world->size();
  Agreement own;
  double votes[3];  // for a snapshot, for a stop, and for newcomers
  const auto vote = [&] {
    const Request request = options.poll ? options.poll() : Request::kNone;
    own.snapshot |= request == Request::kSnapshot || request == Request::kSnapshotStop;
    own.stop |= request == Request::kStop || request == Request::kSnapshotStop;
    votes[0] = own.snapshot ? 1 : 0;
    votes[1] = own.stop ? 1 : 0;
    votes[2] = elastic && admits && elastic->newcomers && elastic->newcomers() ? 1 : 0;
    if (options.world != nullptr)
      options.world->control().AllReduce(votes, elastic ? 3 : 2, DType::kFloat64);
  };
  vote();
  if (elastic && votes[1] > 0 && votes[1] < ranks) {
    std::this_thread::sleep_for(kSignalSpread);
    vote();
  }
  const int stopping = static_cast<int>(votes[1]);
  const int least = elastic ? elastic->least : ranks;
  if (stopping > 0 && ranks - stopping < least) return {votes[0] > 0, true};
  const bool snapshot = votes[0] > stopping;
  if (stopping == 0 && votes[2] == 0) return {snapshot};
  return {snapshot, true, true, own.stop};
}

}  // namespace doppio
