// Detects streams that can never continue.
#include <set>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {
namespace {

// Returns the streams that hold members of `meeting` that have not arrived.
std::vector<const Stream*> Missing(const Meeting* meeting) {
  std::vector<const Stream*> missing;
  for (const Stream* stream : TheMachine().streams) {
    bool holds = false, arrived = false;
    for (const std::shared_ptr<Item>& item : stream->queue) {
      for (size_t i = 0; i < item->states.size(); ++i) {
        const NodeState& state = item->states[i];
        if (state.done || item->plan->nodes[i].task->work.meeting.get() != meeting) continue;
        (state.arrived ? arrived : holds) = true;
      }
    }
    // A member behind one that has arrived belongs to the next generation.
    if (holds && !arrived) missing.push_back(stream);
  }
  return missing;
}

bool NodeCanMove(const Work& work, const NodeState& state, const Stream* self,
                 const std::set<const Stream*>& moving) {
  const Meeting* meeting = work.meeting.get();
  if (meeting == nullptr || meeting->abandoned || meeting->lost) return true;
  if (state.arrived && meeting->generation > state.generation) return true;
  const std::vector<const Stream*> missing = Missing(meeting);
  if (meeting->arrived + static_cast<int>(missing.size()) < meeting->members) return true;
  for (const Stream* stream : missing) {
    if (stream != self && moving.count(stream) == 0) return false;
  }
  return true;
}

bool CanMove(const Stream* stream, const std::set<const Stream*>& moving) {
  if (stream->queue.empty()) return true;
  const Item& item = *stream->queue.front();
  if (item.kind == Item::kRecord || !item.started) {
    if (item.kind != Item::kWait) return true;
  }
  if (item.kind == Item::kWait) return item.moment->done || moving.count(item.moment->stream) > 0;
  for (int node : item.open) {
    const size_t i = static_cast<size_t>(node);
    if (NodeCanMove(item.plan->nodes[i].task->work, item.states[i], stream, moving)) return true;
  }
  return item.left == 0;
}

std::string HeadOf(const Stream& stream) {
  const Item& item = *stream.queue.front();
  if (item.kind == Item::kRecord) return "records an event";
  if (item.kind == Item::kWait) return "waits for an event of " + item.moment->stream->Name();
  std::string text;
  for (int node : item.open) {
    const Work& work = item.plan->nodes[static_cast<size_t>(node)].task->work;
    text += (text.empty() ? "" : ", ") + work.what;
    if (work.meeting == nullptr) continue;
    text += " (" + std::to_string(work.meeting->arrived) + " of " +
            std::to_string(work.meeting->members) + " members have come" +
            (work.meeting->lost ? ", one is lost)" : ")");
  }
  return text;
}

}  // namespace

std::string DumpHeads() {
  std::string text;
  for (const Stream* stream : TheMachine().streams) {
    if (stream->queue.empty()) continue;
    text += "  " + stream->Name() + ": " + HeadOf(*stream) + "; " +
            std::to_string(stream->queue.size()) + " entries\n";
  }
  return text;
}

// A stream can continue if its head can run, or if a later event can make it runnable: the host
// enqueues another member of a meeting, or another process becomes ready. If some other stream
// depends only on streams that cannot continue, it cannot continue either.
void CheckDeadlock() {
  std::set<const Stream*> moving;
  const std::vector<Stream*>& streams = TheMachine().streams;
  for (bool again = true; again;) {
    again = false;
    for (const Stream* stream : streams) {
      if (moving.count(stream) == 0 && CanMove(stream, moving)) {
        moving.insert(stream);
        again = true;
      }
    }
  }
  for (const Stream* stream : streams) {
    if (moving.count(stream) == 0) {
      Fault("deadlock", stream->Name() + " can never go on:\n" + DumpHeads());
    }
  }
}

}  // namespace doppio::gpu_double
