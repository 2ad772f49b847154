// Replicas that divide the update train to the same bits as replicas that do not
// (docs/parallel.md).
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckShardUpdate(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  RandomCase changed = random_case;
  changed.solver.clear_snapshot_diff();  // does not work with a divided update
  Way whole;
  whole.folder = folder;
  whole.ranks = draw->Of<int>({2, 3, 4});
  whole.threads = whole.ranks;
  whole.sync_statistics = draw->Chance(0.3);
  whole.bucket_bytes = draw->Of<int64_t>({-1, 0, 100, 10'000});
  Way divided = whole;
  divided.shard_update = true;
  return Same(Run(changed, divided), Run(changed, whole));
}

DOPPIO_REGISTER(Relations, "shard_update", {&CheckShardUpdate, &Always});

}  // namespace
}  // namespace doppio
