// Replicas that divide the update train to the same bits as replicas that do not
// (docs/parallel.md).
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckShardUpdate(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way whole;
  whole.folder = folder;
  whole.ranks = draw->Of<int>({2, 3, 4});
  whole.threads = whole.ranks;
  whole.sync_statistics = draw->Chance(0.3);
  whole.bucket_bytes = draw->Of<int64_t>({-1, 0, 100, 10'000});
  Way divided = whole;
  divided.shard_update = true;
  const Outcome outcome = Run(random_case, divided);
  std::string why;
  if (RefusedByTable(outcome, &why)) return why;
  return Same(outcome, Run(random_case, whole));
}

DOPPIO_REGISTER(Relations, "shard_update", {&CheckShardUpdate, &Always});

}  // namespace
}  // namespace doppio
