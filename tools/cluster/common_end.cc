#include "tools/cluster/common_end.h"

#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/log.h"
#include "tools/cli/end_process.h"
#include "tools/cli/print_errors.h"
#include "tools/cluster/end_launcher.h"

namespace doppio {
namespace {

// If all ranks fail for the same reason, rank 0 reports it. The others delay their exit by this
// time, because a launcher may kill rank 0 when another rank exits.
constexpr std::chrono::milliseconds kReportDelay(500);
// The delay if rank 0 is certain to fail; it then ends the other processes.
constexpr std::chrono::milliseconds kMixedRanksDelay(10000);
// MPI may report a lost rank before the watch does, but only the watch knows which rank it is.
constexpr std::chrono::seconds kWatchDelay(1);
// Limits the time to record a failure, so that a hanging file server does not block the exit.
constexpr std::chrono::seconds kRecordingLimit(2);

}  // namespace

void CommonEnd::SetRecord(std::function<void(const Error&)> record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  record_ = std::move(record);
}

// Calls the function that records failures, if there is one, and waits at most kRecordingLimit.
void CommonEnd::Record(const Error& failure) {
  std::function<void(const Error&)> record;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    record.swap(record_);
  }
  if (!record) return;
  auto done = std::make_shared<std::promise<void>>();
  const std::future<void> recorded = done->get_future();
  try {
    std::thread([record, failure, done] {
      try {
        record(failure);
      } catch (const std::exception&) {
        // Ignored: the original failure has been printed.
      }
      done->set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread is available; the original failure has been printed
  }
  recorded.wait_for(kRecordingLimit);
}

WatchOptions CommonEnd::MakeWatchOptions(const JoinOptions& options, bool first) {
  if (!(options.stall_timeout >= 1)) throw UsageError("--stall_timeout needs at least 1 second");
  if (!(options.silence_timeout >= 2))
    throw UsageError(
        "--silence_timeout needs at least 2 seconds; ranks send two heartbeats a second");
  WatchOptions watch;
  watch.stall_seconds = options.stall_timeout;
  watch.silence_seconds = options.silence_timeout;
  watch.on_lost = [this](const WatchOptions::Loss& loss) { EndLost(loss); };
  watch.on_endless = [this, first] { EndWithoutLibrary(first); };
  return watch;
}

// Ends this process with the code of its finished work.
void CommonEnd::EndFinished() const {
  std::cout.flush();
  EndProcessNow(finished_);
}

// Ends this process because a rank is lost or another process has failed. Called by the watch's
// thread.
void CommonEnd::EndLost(const WatchOptions::Loss& loss) {
  if (finished_ != kWorks && loss.code == ExitCode::kPeer) {
    if (loss.first) {
      LOG(WARNING) << loss.message << "; this rank had finished before";
      if (loss.unreachable) EndLauncherSoon();
    }
    EndFinished();
  }
  const int own = failed_;
  const bool reports = own == 0 && loss.first;
  if (reports) {
    const Error error(loss.code, loss.message);
    PrintFailure(error, true, std::cerr);
    std::cerr.flush();
    Record(error);
    if (loss.unreachable) EndLauncherSoon();
  } else {
    std::this_thread::sleep_for(kReportDelay);
  }
  EndProcessNow(own != 0 ? own : static_cast<int>(loss.code));
}

// Ends this process because MPI does not, although all ranks have finished. Called by the watch's
// thread.
void CommonEnd::EndWithoutLibrary(bool reports) const {
  if (reports) {
    LOG(WARNING)
        << "all ranks have finished, but the MPI library does not end (MPI_Finalize); they "
           "end without it, and the results are complete";
  }
  EndFinished();
}

void CommonEnd::Fail(ProcessWorld* world, const std::exception& failure, bool began) {
  const Error error = AsError(failure);
  if (error.code() == ExitCode::kPeer) std::this_thread::sleep_for(kWatchDelay);
  failed_ = static_cast<int>(error.code());
  if (world->rank() == 0) {
    const auto* const own = dynamic_cast<const Error*>(&failure);
    std::cout.flush();
    PrintFailure(own == nullptr ? error : *own, began, std::cerr);
    std::cerr.flush();
    Record(error);
  } else {
    const bool reported_by_rank_0 = dynamic_cast<const MixedRanks*>(&failure) != nullptr;
    std::this_thread::sleep_for(reported_by_rank_0 ? kMixedRanksDelay : kReportDelay);
  }
  world->Fail(error.code(), error.what());
  EndProcessNow(failed_);
}

void LeaveToAnother(const Error& failure) {
  std::this_thread::sleep_for(kReportDelay);
  throw ReportedElsewhere(failure.code());
}

}  // namespace doppio
