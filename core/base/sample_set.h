// What the sources of a net know of each other, so that sample i of the sources of one group is one
// sample (docs/data.md). A layer describes its source by a SampleSet, core/net forms the groups,
// and the source follows a GroupRule.
#ifndef DOPPIO_CORE_BASE_SAMPLE_SET_H_
#define DOPPIO_CORE_BASE_SAMPLE_SET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace doppio {

struct PixelSize {
  int height = 0, width = 0;

  bool operator==(const PixelSize& o) const { return height == o.height && width == o.width; }
  bool operator!=(const PixelSize& o) const { return !(*this == o); }
};

// A random change that moves pixels, other than a crop.
struct RandomMove {
  // The stored images for which equal draws give equal moves.
  enum class Follows { kAnySize, kSameProportions, kSameSize };

  std::string field;  // of transform_param
  std::string range;  // what the draws depend on, as text
  Follows follows = Follows::kSameSize;
};

// The indices of the records of each class that has any.
using ClassLists = std::vector<std::vector<int64_t>>;

// Describes the samples of a source.
struct SampleSet {
  int64_t count = 0;  // samples in an epoch; 0 if the source has no end
  // Only sources of one kind can form a group. Sources with epochs are of the kind "".
  std::string kind;
  bool shuffle = false;
  uint32_t rand_skip = 0;  // maximum number of samples to leave out at the start
  // Numbers of samples that are shuffled among themselves (the files of HDF5Data); empty: all
  // samples together.
  std::vector<int64_t> blocks;
  // The order of the source alone has the random stream Stream("data", layer) ^ order_salt.
  uint64_t order_salt = 0;
  // Set if the source takes every class equally often.
  std::shared_ptr<const ClassLists> classes;

  // Sizes of the first image: stored, and as the crop gets it. 0 x 0 if the samples are no images.
  PixelSize stored, before_crop;
  PixelSize random_crop;  // 0 x 0 if there is no crop at a random place
  std::vector<RandomMove> moves;
};

// The order and the draws that all sources of a group share.
struct GroupRule {
  int64_t count = 0;  // as in SampleSet
  bool shuffle = false;
  uint32_t rand_skip = 0;
  std::vector<int64_t> blocks;  // empty if there are classes
  std::shared_ptr<const ClassLists> classes;
  uint64_t stream = 0;        // of rand_skip and of changes that move pixels
  uint64_t order_stream = 0;  // of the order
  int crop_step = 1;          // random crops begin at multiples of so many pixels
  // Returns record `index`, or the next one that all sources of the group can use. Thread-safe.
  // Throws FileError. Null if no record may be left out.
  std::function<int64_t(int64_t index)> usable;
};

// Returns false if the source leaves record `index` out because the record cannot be used, and
// counts the record. Thread-safe; may be called after the source is destroyed. Throws FileError if
// no more records may be left out.
using RecordProbe = std::function<bool(int64_t index)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_SAMPLE_SET_H_
