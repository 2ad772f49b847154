// Statistics of all images of a source: sizes, classes, means, and damaged records.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_STATS_H_
#define DOPPIO_TOOLS_DATA_IMAGE_STATS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/record/source.h"

namespace doppio {

// Sums over the pixels of one channel.
struct ChannelSums {
  int64_t values = 0;
  double sum = 0, squares = 0;

  void Add(const ChannelSums& other) {
    values += other.values;
    sum += other.sum;
    squares += other.squares;
  }
  double mean() const { return sum / static_cast<double>(values); }
  double deviation() const {
    return std::sqrt(std::max(0.0, squares / static_cast<double>(values) - mean() * mean()));
  }
};

struct SizeCount {
  ImageShape shape;
  int64_t images = 0;
};

struct DamagedRecord {
  int64_t index = 0;
  std::string mistake;
};

struct ImageStats {
  int64_t records = 0, encoded = 0, bytes = 0;  // exclude damaged records
  int64_t turned = 0;                           // images that are turned upright by their EXIF data
  int64_t sixteen_bit = 0;                      // image files with more than 8 bits per value
  int brightest = 0;                            // the largest value in these
  std::map<std::string, SizeCount> sizes;       // keyed by ImageShape::ToString()
  // Number of records by label; counts records with a single integer label.
  std::map<int64_t, int64_t> classes;
  std::map<int, std::vector<ChannelSums>> sums;  // keyed by the number of channels
  // Number of records by their number of labels.
  std::map<size_t, int64_t> label_counts;
  uint32_t checksum = 0;  // CRC-32C over the checksums of chunks of records, in order
  std::vector<DamagedRecord> damaged;

  // Returns true if every record has exactly one label and all labels are integers.
  bool has_classes() const;
};

enum class OnDamage {
  kThrow,  // throw FileError with the name of the first damaged record
  kNote,   // list damaged records in ImageStats::damaged
};

// Reads and decodes every record on `threads` threads and shows a progress line. The result
// does not depend on the number of threads.
ImageStats MeasureImages(const Source& source, int threads, OnDamage on_damage);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_STATS_H_
