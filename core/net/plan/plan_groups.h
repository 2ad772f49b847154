// Adds items to a draft, and the reorders and moves between them. Only core/net/plan/plan*.cc
// include this header.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_GROUPS_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_GROUPS_H_

#include "core/net/plan/plan_draft.h"

namespace doppio {

// Makes the groups and items of a draft, which must outlive it.
class GroupMaker {
 public:
  explicit GroupMaker(Draft* draft) : draft_(*draft) {}

  Group& group(int id) { return draft_.groups[id]; }

  // Returns the group that has the numbers of `source`, on its device, in the type and layout of
  // `wanted`. Adds a reorder for node `reader` on the first request. If the source is in the plain
  // layout, the reorder reads it in the shape of `wanted`, because other layouts have axes, and the
  // source may be a view.
  int Convert(int source, const TensorSpec& wanted, int reader);

  // Returns the group that has the numbers of `source` on the device of node `reader`. Adds a move
  // on the first request.
  int Move(int source, int reader);

  // Returns a new group that has the value of `source`, in the same memory, and a gradient of its
  // own, which backward adds to that of `source`. `edge` is a top of node `n`, a view.
  int Alias(int source, int edge, int n);

  // Adds a group of the next item on device `place`.
  int AddGroup(const TensorSpec& spec, int place);

  // Adds an item, and makes it a reader of its bottoms.
  void AddItem(Item item);

  // Returns the number of reorders so far.
  int reorders() const { return reorders_; }

 private:
  Item ReorderOf(int source, const TensorSpec& from, int reader, int place) const;
  int AddReorder(Item item, const TensorSpec& to);

  Draft& draft_;
  int reorders_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_GROUPS_H_
