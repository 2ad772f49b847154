#include "parallel/world/team_world.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>

#include "parallel/reduce/bucket_size.h"
#include "parallel/reduce/layered.h"

namespace doppio {
namespace {

// The grouping of ranks by machine. `across` connects the machines: on the first rank of each
// machine, or on all ranks.
struct Machines {
  // Collective. Each machine has `ranks_each` consecutive ranks; if it is 0, ranks that share
  // memory form a machine. With `may_divide`, all ranks exchange between machines if the machines
  // have as many ranks each, in the same order.
  Machines(Transport* transport, Communicator* control, int ranks_each, bool may_divide) {
    const int rank = control->rank();
    inside = ranks_each > 0 ? transport->Group(rank / ranks_each) : transport->Machine();
    RankPlace own;
    own.inside = inside.control->rank();
    const bool first = own.inside == 0;
    int size_of_first = inside.control->size();
    control->Broadcast(&size_of_first, sizeof size_of_first, 0);
    const bool all = may_divide && AllTrue(control, inside.control->size() == size_of_first);
    across = transport->Group(first || all ? own.inside : Transport::kNoColor);
    if (first) own.node = across.control->rank();
    inside.control->Broadcast(&own.node, sizeof own.node, 0);
    places.resize(control->size());
    places[rank] = own;
    for (int r = 0; r < control->size(); ++r) control->Broadcast(&places[r], sizeof places[r], r);
    for (const RankPlace& place : places) count = std::max(count, place.node + 1);
    if (all && AllTrue(control, across.control->rank() == own.node)) {
      who = Across::kAll;
    } else if (!first) {
      across = {};
    }
  }

  // Collective. Returns true if `holds` is true on all ranks.
  static bool AllTrue(Communicator* control, bool holds) {
    double others = holds ? 0 : 1;
    control->AllReduce(&others, 1, DType::kFloat64);
    return others == 0;
  }

  void set_watch(Watch* watch) {
    inside.set_watch(watch);
    if (across.control != nullptr) across.set_watch(watch);
  }

  std::vector<RankPlace> places;  // indexed by rank
  int count = 1;                  // number of machines
  TeamPair inside, across;
  Across who = Across::kFirst;
};

class TeamWorld : public ProcessWorld {
 public:
  TeamWorld(std::unique_ptr<Transport> transport, const WatchOptions& watch)
      : exceptions_(std::uncaught_exceptions()),
        transport_(std::move(transport)),
        all_(transport_->All()),
        bulk_(all_.bulk.get()) {
    watch_ = std::make_unique<Watch>(all_.control.get(), watch);
    all_.set_watch(watch_.get());
  }

  ~TeamWorld() override {
    if (broken_) {
      all_.set_watch(nullptr);
      watch_.reset();
    } else if (transport_->MayHang() && std::uncaught_exceptions() == exceptions_) {
      MeetAtTheEnd();
    }
  }

  void Connect(const ProcessExchange& exchange) override {
    exchange_ = exchange;
    if (exchange.hierarchical) FindMachines();
    if (!machines_) {
      bulk_ = Link(all_, &device_);
      return;
    }
    Communicator* inside = Link(machines_->inside, &device_);
    Communicator* across =
        machines_->across.control != nullptr ? Link(machines_->across, &across_device_) : nullptr;
    layered_.emplace(all_.control->rank(), machines_->places, inside, across, machines_->who);
    bulk_ = &*layered_;
  }
  void Disconnect() override {
    bulk_ = all_.bulk.get();
    layered_.reset();
    across_device_.reset();
    device_.reset();
  }
  Communicator& control() const override { return *all_.control; }
  Communicator& bulk() const override { return *bulk_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params,
                                                 const Sharding& sharding) const override {
    ReducerOptions options = exchange_.reducer;
    options.sharding = sharding;
    options.bucket_bytes = BucketBytesFor(*this, *params, options.bucket_bytes);
    return std::make_unique<Reducer>(params, &bulk(), options);
  }
  void Fail(ExitCode code, const std::string& why) override { watch_->Fail(code, why); }
  void Break(const std::string& why) override {
    broken_ = true;
    all_.control->Abort(why);
    all_.bulk->Abort(why);
    transport_->Abort(why);
  }
  std::string how_summed() const override { return how_summed_; }

 private:
  // Waits for all ranks, which are watched meanwhile. Limits the time of what follows.
  void MeetAtTheEnd() {
    try {
      all_.control->Barrier();
      watch_->ExpectEnd();
    } catch (const PeerError&) {
      // Ignored: the watch reports lost ranks.
    }
  }

  // Groups the ranks by machine. Leaves machines_ empty if two layers would equal one.
  void FindMachines() {
    // Links between GPUs sum whole messages.
    const bool may_divide = exchange_.make_bulk == nullptr;
    machines_.emplace(transport_.get(), all_.control.get(), exchange_.ranks_per_machine,
                      may_divide);
    machines_->set_watch(watch_.get());
    if (machines_->count > 1 && machines_->count < size()) {
      how_summed_ = StrCat("gradients are summed inside ", machines_->count,
                           " machines first, then between them");
      return;
    }
    how_summed_ =
        std::string(
            "gradients are summed over all processes at once, as without --hierarchical: ") +
        (machines_->count == 1 ? "all processes are on one machine"
                               : "each process is on a machine of its own");
    machines_.reset();
  }

  // Returns the communicator that sums over the ranks of `pair`. `device` owns the link between
  // their devices; it stays null if the ranks compute on the host.
  Communicator* Link(const TeamPair& pair, std::unique_ptr<Communicator>* device) const {
    if (!exchange_.make_bulk) return pair.bulk.get();
    *device =
        exchange_.make_bulk({pair.control.get(), pair.bulk.get(), std::make_shared<Meeting>(1),
                             [watch = watch_.get()](int64_t bucket) { watch->Moved(bucket); }});
    return device->get();
  }

  // The watch is the first member, so that it ends last: a rank whose transport waits for one that
  // hangs is watched as well. In a broken world it ends first, because its callback may call Break.
  std::unique_ptr<Watch> watch_;
  std::atomic<bool> broken_{false};
  const int exceptions_;
  const std::unique_ptr<Transport> transport_;
  const TeamPair all_;
  ProcessExchange exchange_;
  std::optional<Machines> machines_;  // set if gradients are summed in two layers
  std::string how_summed_;
  std::unique_ptr<Communicator> device_, across_device_;  // null if the ranks compute on the host
  std::optional<Layered> layered_;
  Communicator* bulk_;  // one of the communicators above
};

}  // namespace

std::unique_ptr<ProcessWorld> MakeTeamWorld(std::unique_ptr<Transport> transport,
                                            const WatchOptions& watch) {
  return std::make_unique<TeamWorld>(std::move(transport), watch);
}

}  // namespace doppio
