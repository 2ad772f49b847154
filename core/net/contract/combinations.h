// Which features of a training work together. Each feature works alone, and two of them work
// together unless the table has a row for them. Whoever can start a training collects its features
// and asks this table; docs/combinations.md shows it to users.
//
// The table is about features. Two fields or flags that say the same thing twice, or a value that a
// field does not take, are mistakes that the field's reader reports.
#ifndef DOPPIO_CORE_NET_CONTRACT_COMBINATIONS_H_
#define DOPPIO_CORE_NET_CONTRACT_COMBINATIONS_H_

#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

enum class Feature {
  // Devices.
  kPlace,
  kMicrobatches,
  kGpu,
  // Replicas.
  kReplicas,  // several ranks of any kind
  kCpuReplicas,
  kProcesses,
  kElastic,
  kMpi,
  kP2p,
  kNccl,
  kHierarchical,
  kShardUpdate,
  kSyncBn,
  // Memory and precision.
  kRecompute,
  kOffload,
  kTf32,
  kDynamicScale,
  // The solver.
  kIterSize,
  kClipping,
  kNormRates,
  kMatrices,
  kLossRate,
  kSnapshotDiff,
  kDebugInfo,
  kTestNet,
  kMonitor,
  // Observers.
  kTrace,
  kScript,
  // Layers (LayerShape::features).
  kChangingTops,
  kSeveralSizes,
  kState,
  kProgramSamples,
  // Optimisations, which a training uses unless another feature prevents them.
  kEarlyUpdate,
  kSlices,
  kRecordings,
  kChains,
  kLastSnapshot,
  kCount
};

// Describes a feature to users.
struct FeatureText {
  const char* name;     // in messages, such as "--place"
  const char* meaning;  // in Markdown
};
const FeatureText& TextOf(Feature feature);

// The effect that the second feature of a combination has on the first one.
enum class PairRule {
  kRefused,  // no training starts with both
  kNeeds,    // no training starts with the first and without the second
  kFails,    // the training ends with an error if what the reason says happens
  kOff,      // the second switches the first off
  kIdle,     // the first has no effect without the second
  kLimited,  // both work, except for what the reason says
};

struct Combination {
  Feature first, second;
  PairRule rule;
  const char* reason;              // a clause without a period
  Feature with = Feature::kCount;  // the row counts only if the training has this feature, too
};
const std::vector<Combination>& Combinations();

// A feature that a training has.
struct FeatureUse {
  Feature feature;
  std::string as = {};  // as the user asked for it, such as "--gpu=0,1"; "": FeatureText::name
  SourceLoc at = {};    // if a file asks for it
};

// The features of a training. A feature may have several uses, such as several layers.
class Features {
 public:
  void Add(FeatureUse use) { uses_.push_back(std::move(use)); }
  // Adds `feature` if `used` is true.
  void AddIf(bool used, Feature feature, const std::string& as = "", const SourceLoc& at = {}) {
    if (used) Add({feature, as, at});
  }
  void Add(const Features& others) {
    uses_.insert(uses_.end(), others.uses_.begin(), others.uses_.end());
  }
  bool Has(Feature feature) const;
  const std::vector<FeatureUse>& uses() const { return uses_; }

 private:
  std::vector<FeatureUse> uses_;
};

// Returns a mistake for each row with which no training with these features starts: a UserError at
// the field of a file that asks for one of them, otherwise a UsageError.
std::vector<Error> RefusalsOf(const Features& features);
// Throws all of RefusalsOf at once.
void CheckCombinations(const Features& features);
// Returns true if another feature switches `feature` off.
bool IsOff(Feature feature, const Features& features);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_COMBINATIONS_H_
