#include "tools/cluster/elastic.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/base/host_name.h"
#include "core/base/version.h"
#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "core/net/spec/spec.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/world/launcher.h"
#include "tools/cli/launch_flags.h"
#include "tools/cluster/joined.h"
#include "tools/cluster/same_training.h"

namespace doppio {
namespace {

constexpr int kMostElasticRanks = 1024;

// Returns the largest number of ranks, at most n, among which the batches of the train net can be
// divided.
int LargestDivisor(const SolverSpec& solver, NetOptions options, int n) {
  for (; n > 1; --n) {
    options.shares = n;
    try {
      MakeNetSpec(solver.train.net, solver.train.places, solver.train.state, options);
      return n;
    } catch (const Error&) {
      // Ignored: fewer ranks may divide the batch. One rank reports other mistakes.
    }
  }
  return n;
}

}  // namespace

ElasticRange ParseElastic(const std::string& value) {
  const size_t colon = std::min(value.find(':'), value.size());
  const auto least = ParseWholeNumber(value.substr(0, colon));
  const auto most = ParseWholeNumber(value.substr(std::min(colon + 1, value.size())));
  if (!least || !most || *least < 1 || *most < *least || *most > kMostElasticRanks) {
    throw UsageError(
        "--elastic needs the least and the largest number of ranks, such as 2:8; got '" + value +
        "'");
  }
  return {static_cast<int>(*least), static_cast<int>(*most)};
}

ElasticOptions MakeElasticOptions(const JoinOptions& options, const Facts& settings,
                                  CommonEnd* end) {
  const ElasticRange range = ParseElastic(options.elastic);
  const Launch launch = LaunchOf(options);
  if (launch.address.empty()) {
    throw UsageError("--elastic joins its ranks by TCP, and " + launch.launcher +
                     " does not say where rank 0 is; use doppio launch");
  }
  const ProcessWorldOptions world = MakeWorldOptions(options, launch);
  ElasticOptions elastic;
  elastic.rendezvous = world.rendezvous;
  elastic.watch = end->MakeWatchOptions(options, launch.rank == 0);
  elastic.least = range.least;
  elastic.most = range.most;
  if (launch.size > range.most) {
    throw UsageError("--elastic=" + options.elastic + ", but " + launch.launcher + " starts " +
                     std::to_string(launch.size) + " ranks");
  }
  const char* const hosts = std::getenv("DOPPIO_ELASTIC_HOSTS");
  if (hosts != nullptr) elastic.hosts = SplitList(hosts);
  const char* const joins = std::getenv("DOPPIO_ELASTIC_JOIN");
  elastic.joins = joins != nullptr && std::string(joins) == "1";
  elastic.identity = IdentityOf(HostName(), world.program, "TCP");
  elastic.training = DigestOf(settings);
  return elastic;
}

std::function<int(int n)> DivisorsOfBatch(const SolverSpec& solver, const NetOptions& net) {
  return [&solver, net, known = std::map<int, int>()](int n) mutable {
    const auto found = known.find(n);
    if (found != known.end()) return found->second;
    return known[n] = LargestDivisor(solver, net, n);
  };
}

ProcessWorld* ElasticSession::Meet() {
  ProcessWorld* const world = member.Meet(state == nullptr ? -1 : state->solver.iter);
  const ElasticRoster& roster = member.roster();
  const int newest = roster.newest_rank();
  if (newest < 0) {
    if (!met_state) return world;
    throw UnreachableRank(
        "all ranks that held the state of the training are lost; start it again with --resume");
  }
  met_state = true;
  const int64_t own = roster.places[world->rank()].iteration;
  newcomer = own < 0;
  // If the sharing fails, this process still has what it had.
  const bool is_behind = own < roster.places[newest].iteration;
  const auto shared = is_behind ? std::make_shared<TrainerState>() : state;
  ShareState(&world->control(), newest, roster.some_are_behind(), shared.get());
  state = shared;
  return world;
}

std::string ElasticSession::WorldText() const {
  const ElasticRoster& roster = member.roster();
  const size_t ranks = roster.places.size();
  std::string text = "world " + std::to_string(roster.epoch) + ": " + std::to_string(ranks) +
                     (ranks == 1 ? " rank" : " ranks");
  if (state != nullptr)
    text += ", continuing after iteration " + std::to_string(state->solver.iter);
  if (!lost.empty()) text += "; the last world ended because " + lost;
  if (!roster.left.empty()) text += "; left: " + roster.left;
  if (!roster.came.empty()) text += "; came: " + roster.came;
  return text;
}

ElasticRule ElasticSession::Rule() {
  ElasticRule rule;
  rule.least = least;
  rule.newcomers = [this] { return member.NewcomersFit(); };
  rule.keep = [this](TrainerState kept) {
    state = std::make_shared<TrainerState>(std::move(kept));
  };
  return rule;
}

ExitCode RunElastic(ElasticSession* session,
                    const std::function<std::optional<ExitCode>(ProcessWorld* world)>& work,
                    const std::function<void()>& save) {
  for (;;) {
    try {
      ProcessWorld* const world = session->Meet();
      const std::optional<ExitCode> code = work(world);
      if (code) return *code;
    } catch (const UnreachableRank& e) {
      if (!session->member.hosted()) LeaveToAnother(e);
      if (session->state != nullptr) save();
      throw;
    } catch (const MixedRanks& e) {
      // A newcomer with other data ends; the others continue without it.
      if (session->first_world() && !session->member.hosted()) LeaveToAnother(e);
      if (session->first_world() || session->newcomer) throw;
      LOG(WARNING) << e.message() << "; the ranks meet again";
    } catch (const Error& e) {
      if (e.code() != ExitCode::kPeer) throw;
      session->lost = e.message();
    }
  }
}

Request ElasticSession::Requested(Request own) {
  member.BeginIteration();
  if (own == Request::kStop || own == Request::kSnapshotStop) stop = own;
  return stop != Request::kNone ? stop : own;
}

}  // namespace doppio
