// Runs queued work: one piece at a time, chosen at random among the pieces that can run.
#include <algorithm>
#include <chrono>
#include <numeric>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

thread_local bool t_running = false;

int64_t Nanoseconds() {
  if (TheSettings().clock == "bytes") return TheMachine().bytes;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Piece {
  Stream* stream = nullptr;
  std::shared_ptr<Item> item;
  int node = 0;
  const Task& task() const { return *item->plan->nodes[static_cast<size_t>(node)].task; }
  NodeState& state() const { return item->states[static_cast<size_t>(node)]; }
};

Clock BeforeOf(const Item& item, int node) {
  Clock before = item.before;
  for (int need : item.plan->nodes[static_cast<size_t>(node)].needs) {
    before.Join(item.states[static_cast<size_t>(need)].after);
  }
  return before;
}

void Arrive(Item* item, int node) {
  Meeting* meeting = item->plan->nodes[static_cast<size_t>(node)].task->work.meeting.get();
  NodeState& state = item->states[static_cast<size_t>(node)];
  if (meeting == nullptr || state.arrived || meeting->lost) return;
  state.arrived = true;
  state.generation = meeting->generation;
  meeting->gathering.Join(BeforeOf(*item, node));
  if (++meeting->arrived < meeting->members) return;
  meeting->arrived = 0;
  ++meeting->generation;
  meeting->clock = meeting->gathering;
  meeting->gathering = Clock();
}

void Open(Item* item, int node) {
  item->open.push_back(node);
  Arrive(item, node);
}

void Start(const Stream& stream, Item* item) {
  item->started = true;
  item->before = stream.clock;
  item->before.Join(*item->host);
  item->after = item->before;
  for (size_t i = 0; i < item->states.size(); ++i) {
    if (item->states[i].missing == 0) Open(item, static_cast<int>(i));
  }
}

// Processes the items at the head of the stream that take no time. Returns true if anything
// changed.
bool SettleStream(Stream* stream) {
  bool changed = false;
  while (!stream->queue.empty()) {
    Item* item = stream->queue.front().get();
    if (item->kind == Item::kWork) {
      if (!item->started) {
        Start(*stream, item);
        changed = true;
      }
      if (item->left > 0) break;
      stream->clock.Join(item->after);
    } else if (item->kind == Item::kRecord) {
      Moment& moment = *item->moment;
      stream->clock.Join(*item->host);
      moment.clock = stream->clock;
      moment.ns = Nanoseconds();
      moment.done = true;
    } else {
      if (!item->moment->done) break;
      stream->clock.Join(*item->host);
      stream->clock.Join(item->moment->clock);
    }
    stream->queue.pop_front();
    changed = true;
  }
  return changed;
}

bool MayRun(const Item& item, int node) {
  const Work& work = item.plan->nodes[static_cast<size_t>(node)].task->work;
  const NodeState& state = item.states[static_cast<size_t>(node)];
  if (work.meeting != nullptr) {
    if (work.meeting->abandoned) return true;
    if (!state.arrived || work.meeting->generation == state.generation) return false;
  }
  return !work.ready || work.ready();
}

std::vector<int> NodesThatMayRun(const Stream& stream) {
  std::vector<int> nodes;
  if (stream.queue.empty() || stream.queue.front()->kind != Item::kWork) return nodes;
  const Item& item = *stream.queue.front();
  for (int node : item.open) {
    if (MayRun(item, node)) nodes.push_back(node);
  }
  return nodes;
}

// Chooses a random piece. Chooses the stream first, so that a wide graph does not starve other
// streams.
bool Choose(Piece* piece) {
  struct Candidate {
    Stream* stream;
    std::vector<int> nodes;
  };
  std::vector<Candidate> candidates, slow;
  const int slow_device = static_cast<int>(TheSettings().slow_device);
  for (Stream* stream : TheMachine().streams) {
    std::vector<int> nodes = NodesThatMayRun(*stream);
    if (nodes.empty()) continue;
    (stream->device == slow_device ? slow : candidates).push_back({stream, std::move(nodes)});
  }
  if (candidates.empty()) candidates.swap(slow);
  if (candidates.empty()) return false;
  const Candidate& chosen = candidates[Random(candidates.size())];
  piece->stream = chosen.stream;
  piece->item = chosen.stream->queue.front();
  piece->node = chosen.nodes[Random(chosen.nodes.size())];
  return true;
}

void CheckLive(const Task& task, const std::string& who) {
  for (const Access& access : task.work.accesses) {
    if (access.bytes == 0) continue;
    Block block;
    if (!FindBlock(access.at, &block)) {
      if (!IsDeviceAddress(access.at)) continue;  // pageable memory
      Fault("lifetime", who + " touches " + Describe(access.at) +
                            ", which was freed after the work was enqueued");
    }
    CheckInside(access.at, access.bytes, who);
    if (task.work.any_device || block.device == kPinned || PeerEnabled(task.device, block.device)) {
      continue;
    }
    Fault("peer", who + " touches " + Describe(access.at) + " without access to that peer");
  }
}

std::vector<Access> Execute(const Task& task) {
  const int device = CurrentDevice();
  SetCurrentDevice(task.device);
  t_running = true;
  std::vector<Access> found = task.work.run();
  t_running = false;
  SetCurrentDevice(device);
  return found;
}

// Removes accesses to memory of lost devices. This memory is undefined, and the items that ordered
// its accesses were dropped.
void ForgetLostDevices(std::vector<Access>* accesses) {
  const Lock lock(TheMachine().mutex);
  const auto lost = [](const Access& access) {
    Block block;
    return FindBlock(access.at, &block) && block.device != kPinned &&
           TheMachine().devices[static_cast<size_t>(block.device)].error != cudaSuccess;
  };
  accesses->erase(std::remove_if(accesses->begin(), accesses->end(), lost), accesses->end());
}

// Returns the number of bytes accessed.
int64_t Run(const Piece& piece, const std::string& who, Lane* lane, const Clock& before) {
  const Task& task = piece.task();
  const NodeState& state = piece.state();
  // Opens memory before the check, so that the check can open the blocks.
  std::unique_ptr<OpenMemory> open;
  if (!task.host_function) open = std::make_unique<OpenMemory>();
  CheckLive(task, who);
  std::vector<Access> accesses = task.work.accesses;
  const bool changed = state.checked && ChecksumOf(task.source) != state.checksum;
  if (!changed && task.work.run) {
    const std::vector<Access> found = Execute(task);
    accesses.insert(accesses.end(), found.begin(), found.end());
  }
  open.reset();
  ForgetLostDevices(&accesses);
  // A race in device memory may be the cause of the change, so races are reported first.
  NoteAccesses(who, lane->actor, lane->time, before, accesses);
  if (changed) {
    Fault("pinned", "the host changed " + Describe(task.source.at) + " (" +
                        std::to_string(task.source.bytes) +
                        " bytes) before its copy was done: " + who);
  }
  if (task.work.counter != nullptr) Count(task.work.counter);
  return std::accumulate(accesses.begin(), accesses.end(), int64_t{0},
                         [](int64_t sum, const Access& access) { return sum + access.bytes; });
}

void Finish(const Piece& piece, Lane* lane, Clock before) {
  Item* item = piece.item.get();
  NodeState& state = piece.state();
  if (state.done) return;  // the device was lost while the work ran
  state.done = true;
  --item->left;
  before.Set(lane->actor, lane->time);
  item->after.Join(before);
  for (size_t i = 0; i < item->open.size(); ++i) {
    if (item->open[i] != piece.node) continue;
    item->open.erase(item->open.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  state.after = std::move(before);
  for (int user : item->plan->nodes[static_cast<size_t>(piece.node)].users) {
    if (--item->states[static_cast<size_t>(user)].missing == 0) Open(item, user);
  }
}

bool FailsHere(const Task& task) {
  if (task.work.counter != &Counters::kernels) return false;
  return ++TheMachine().kernels == TheSettings().fail_launch;
}

}  // namespace

void Settle() {
  Machine& machine = TheMachine();
  for (bool again = true; again;) {
    again = false;
    for (Stream* stream : machine.streams) again |= SettleStream(stream);
  }
  for (size_t i = 0; i < machine.streams.size();) {
    Stream* stream = machine.streams[i];
    if (stream->destroyed && stream->queue.empty()) {
      stream->lane = nullptr;
      machine.streams.erase(machine.streams.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

bool RunOne(Lock& lock) {
  Machine& machine = TheMachine();
  if (t_running) Fault("stream", "work on a stream enqueues work or waits, which CUDA forbids");
  if (machine.busy) return false;
  Settle();
  Piece piece;
  if (!Choose(&piece)) return false;
  const Task& task = piece.task();
  if (FailsHere(task)) {
    Break(task.device, cudaErrorLaunchFailure);
    machine.changed.notify_all();
    return true;
  }
  Lane* lane = piece.item
                   ->lanes[static_cast<size_t>(
                       piece.item->plan->nodes[static_cast<size_t>(piece.node)].lane)]
                   .get();
  ++lane->time;
  Clock before = BeforeOf(*piece.item, piece.node);
  const Meeting* meeting = task.work.meeting.get();
  const bool skip = meeting != nullptr && meeting->abandoned;
  if (meeting != nullptr) before.Join(meeting->clock);
  machine.busy = true;
  if (!skip) {
    const std::string who = task.work.what + " on " + piece.stream->Name();
    lock.unlock();
    const int64_t bytes = Run(piece, who, lane, before);
    lock.lock();
    machine.bytes += bytes;
  }
  machine.busy = false;
  ++machine.pieces;
  Finish(piece, lane, std::move(before));
  Settle();
  machine.changed.notify_all();
  return true;
}

void Progress(Lock& lock) {
  const std::string& order = TheSettings().order;
  if (order == "late") return;
  if (order == "early") {
    while (RunOne(lock)) {
    }
    return;
  }
  RunAFew(lock);
}

void RunAFew(Lock& lock) {
  for (uint64_t left = Random(4); left > 0 && RunOne(lock); --left) {
  }
}

}  // namespace doppio::gpu_double
