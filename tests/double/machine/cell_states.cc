#include "tests/double/machine/cell_states.h"

#include <tuple>
#include <map>

namespace doppio::gpu_double {
namespace {

// Bit sets of access kinds.
constexpr int kReads = 1 << kRead, kWrites = 1 << kWrite, kAtomics = 1 << kAtomic;

struct State {
  int all = 0;           // kinds of all accesses
  int group = 0;         // kinds of accesses in the latest epoch; valid while there is one block
  bool threads = false;  // the group has several threads
  bool blocks = false;   // several blocks have accessed the byte
  bool operator<(const State& o) const {
    return std::tie(all, group, threads, blocks) < std::tie(o.all, o.group, o.threads, o.blocks);
  }
};

// Returns true if an access races with unordered accesses of these kinds.
bool Races(int kinds, AccessKind kind) {
  if (kind == kWrite) return kinds != 0;
  return kinds & (kind == kRead ? kWrites | kAtomics : kReads | kWrites);
}

// Computes the next state. Returns false if the access is a race.
bool Follow(State state, Relation relation, AccessKind kind, State* next) {
  const int set = 1 << kind;
  *next = state;
  next->all |= set;
  if (state.blocks || relation == kOtherBlock) {
    next->blocks = true;
    next->group = 0;
    next->threads = false;
    return !Races(state.all, kind);
  }
  if (relation == kOtherEpoch) {
    next->group = set;
    next->threads = false;
    return true;
  }
  next->group |= set;
  if (relation == kSameThread && !state.threads) return true;
  next->threads = true;
  return !Races(state.group, kind);
}

}  // namespace

CellStates::CellStates() {
  // State 0 means that the byte has only been loaded atomically.
  std::map<State, uint8_t> numbers = {{State(), 0}};
  std::map<uint8_t, State> to_do = {{0, State()}};
  const auto number = [&](const State& state) {
    const auto [found, added] = numbers.emplace(state, numbers.size());
    if (added) to_do.emplace(found->second, state);
    return found->second;
  };
  while (!to_do.empty()) {
    const auto [n, state] = *to_do.begin();
    to_do.erase(to_do.begin());
    reads[n] = n == 0 || (state.all & (kReads | kAtomics));
    writes[n] = state.all & (kWrites | kAtomics);
    for (int r = 0; r < kRelations; ++r) {
      for (AccessKind kind : {kRead, kWrite, kAtomic}) {
        State after;
        // The first access has no predecessor, so its relation does not matter.
        const Relation relation = n == 0 ? kSameThread : static_cast<Relation>(r);
        next[n][r][kind] = Follow(state, relation, kind, &after) ? number(after) : kRace;
      }
      next[n][r][kAtomicLoad] = n;
    }
  }
  for (int kind = 0; kind < kAccessKinds; ++kind) first[kind] = next[0][kSameThread][kind];
}

}  // namespace doppio::gpu_double
