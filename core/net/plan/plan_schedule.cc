// Decides when everything runs, and what runs twice.
//
// The items are cut into segments at places where few bytes cross. For all segments but the last,
// the values that backward reads are dropped after forward and recomputed right before the
// segment's backward. The recomputation starts from the values that cross the cuts, which are kept.
#include <algorithm>
#include <cmath>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

class Scheduler {
 public:
  Scheduler(const Plan& plan, Draft* draft) : plan_(plan), draft_(*draft), graph_(*draft->graph) {}

  void Run(int segments) {
    FindBackwardReaders();
    if (segments > 1) {
      CutInto(segments);
      ChooseRecomputed();
    }
    LayTime();
    CountRecomputed();
  }

 private:
  Group& group(int id) { return draft_.groups[id]; }
  Item& item(int t) { return draft_.items[t]; }
  int items() const { return static_cast<int>(draft_.items.size()); }

  void FindBackwardReaders() {
    for (int t = 0; t < items(); ++t) {
      const Item& it = item(t);
      if (it.reorder || !it.backward) continue;
      const LayerShape& shape = draft_.UnitOf(it).shape;
      for (size_t b = 0; shape.backward_reads_bottoms && b < it.bottoms.size(); ++b) {
        if (!shape.Passes(b)) group(it.bottoms[b]).backward_readers.push_back(t);
      }
      for (size_t i = 0; shape.backward_reads_tops && i < it.tops.size(); ++i) {
        group(it.tops[i]).backward_readers.push_back(t);
      }
    }
  }

  // Returns the bytes that the item must keep for backward: its results and its saved memory.
  int64_t KeptBytes(int t) {
    const Item& it = item(t);
    int64_t bytes = 0;
    for (int g : it.tops) {
      if (!group(g).backward_readers.empty() && !group(g).pinned) bytes += group(g).spec.bytes();
    }
    if (!it.reorder) bytes += plan_.kernels[it.node]->needs().saved_bytes;
    return bytes;
  }

  // Returns for each item c the bytes of the values made before c and read by c or later items.
  std::vector<int64_t> CrossingBytes() const {
    std::vector<int64_t> crossing(draft_.items.size() + 1, 0);
    for (const Group& g : draft_.groups) {
      int last = g.item;
      for (int reader : g.readers) last = std::max(last, reader);
      for (int c = g.item + 1; c <= last; ++c) crossing[c] += g.spec.bytes();
    }
    return crossing;
  }

  // Returns true if the item can work in place. A cut before such an item would force a copy of its
  // bottom.
  bool WorksInPlace(int t) {
    const Item& it = item(t);
    if (!it.in_place_ok || it.bottoms.empty()) return false;
    const Group& bottom = group(it.bottoms[0]);
    return bottom.readers.size() == 1 && bottom.backward_readers.empty() && !bottom.pinned;
  }

  // Gives each segment about the same number of bytes to keep. Within half a segment around each
  // ideal place, cuts where the fewest bytes cross.
  void CutInto(int segments) {
    const std::vector<int64_t> crossing = CrossingBytes();
    double total = 0;
    for (int t = 0; t < items(); ++t) total += static_cast<double>(KeptBytes(t));
    if (total == 0) return;
    struct Cut {
      int place = -1;
      int64_t crossing = 0;
      double off = 0;
    };
    std::vector<Cut> cuts(segments);
    double done = 0;  // kept bytes so far, in units of segments
    for (int c = 1; c < items(); ++c) {
      done += static_cast<double>(KeptBytes(c - 1)) / total * segments;
      const int nearest = static_cast<int>(std::lround(done));
      if (nearest < 1 || nearest >= segments || WorksInPlace(c)) continue;
      const Cut here{c, crossing[c], std::fabs(done - nearest)};
      Cut& best = cuts[nearest];
      const bool narrower = here.crossing < best.crossing;
      if (best.place < 0 || narrower || (here.crossing == best.crossing && here.off < best.off))
        best = here;
    }
    int segment = 0;
    size_t next = 1;
    for (int t = 0; t < items(); ++t) {
      for (; next < cuts.size() && cuts[next].place <= t; ++next)
        segment += cuts[next].place < 0 ? 0 : 1;
      item(t).segment = segment;
    }
    draft_.saved.segments = segment + 1;
  }

  int64_t Macs(const Item& it) {
    int64_t macs = 0;
    if (it.reorder) return macs;
    for (int n : draft_.UnitOf(it).nodes) macs += graph_.nodes[n].shape.macs;
    return macs;
  }

  // Returns true if recomputing the item is allowed by the options and gives the same result.
  bool Repeatable(const Item& it) {
    if (it.reorder) return true;
    if (draft_.options.saving.light && Macs(it) > 0) return false;
    const Unit& unit = draft_.UnitOf(it);
    if (unit.bottoms.empty() || unit.shape.persistent_tops) return false;
    for (size_t i = 0; i < unit.params.size(); ++i) {
      // The parameter is updated no earlier than in the unit's own backward.
      if (unit.param_gradient[i]) continue;
      const GraphParam& param = graph_.params[unit.params[i]];
      // Another user of the parameter may have updated it, through its gradient or in its forward.
      if (learned_[unit.params[i]] || (!param.trainable && param.uses > 1)) return false;
    }
    return true;
  }

  // Walks from the last item to the first, so that the needs of readers are known. Keeps a result
  // if a later segment needs it; otherwise recomputes its item if the item's own segment needs it.
  void ChooseRecomputed() {
    learned_.assign(graph_.params.size(), false);
    for (const Unit& unit : draft_.units) {
      for (size_t i = 0; i < unit.params.size(); ++i) {
        if (unit.param_gradient[i]) learned_[unit.params[i]] = true;
      }
    }
    const int last = item(items() - 1).segment;
    for (int t = items(); t-- > 0;) {
      Item& it = item(t);
      if (it.segment == last || !Repeatable(it)) continue;
      std::vector<int> dropped;
      for (int g : it.tops) {
        bool here = false, later = group(g).pinned;
        auto need = [&](int reader) { (item(reader).segment == it.segment ? here : later) = true; };
        for (int reader : group(g).backward_readers) need(reader);
        for (int reader : group(g).readers) {
          if (item(reader).again) need(reader);
        }
        if (here && !later) dropped.push_back(g);
      }
      it.again = !dropped.empty();
      for (int g : dropped) group(g).recomputed = true;
    }
  }

  void LayTime() {
    auto add = [&](Event::Kind kind, int t) {
      draft_.events.push_back({kind, t});
      return draft_.end();
    };
    for (int t = 0; t < items(); ++t) add(Event::kForward, t);
    for (int end = items(); end > 0;) {
      int begin = end - 1;
      while (begin > 0 && item(begin - 1).segment == item(begin).segment) --begin;
      for (int t = begin; t < end; ++t) {
        if (item(t).again) item(t).recompute_time = add(Event::kRecompute, t);
      }
      for (int t = end; t-- > begin;) item(t).backward_time = add(Event::kBackward, t);
      end = begin;
    }
  }

  void CountRecomputed() {
    int64_t all = 0, again = 0;
    for (const Item& it : draft_.items) {
      all += Macs(it);
      if (!it.again) continue;
      again += Macs(it);
      if (!it.reorder)
        draft_.saved.layers_recomputed += static_cast<int>(draft_.UnitOf(it).nodes.size());
    }
    if (all > 0)
      draft_.saved.work_recomputed = static_cast<double>(again) / static_cast<double>(all);
  }

  const Plan& plan_;
  Draft& draft_;
  const Graph& graph_;
  // Per parameter of the graph: true if some unit computes its gradient.
  std::vector<bool> learned_;
};

}  // namespace

void MakeSchedule(int segments, const Plan& plan, Draft* draft) {
  Scheduler(plan, draft).Run(segments);
}

}  // namespace doppio
