// What a pass over all images of a source finds: sizes, classes, means and damaged records.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_STATS_H_
#define DOPPIO_TOOLS_DATA_IMAGE_STATS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace doppio {

// Of the pixels of one channel.
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
  int64_t records = 0, encoded = 0, bytes = 0;   // without damaged ones
  std::map<std::string, SizeCount> sizes;        // by the shape as text
  std::map<int64_t, int64_t> classes;            // records by label, where each has one whole label
  std::map<int, std::vector<ChannelSums>> sums;  // by the number of channels
  std::map<size_t, int64_t> label_counts;
  uint32_t checksum = 0;  // of the checksums of all records, in order
  std::vector<DamagedRecord> damaged;

  // Labels are classes where each record has one, a whole one.
  bool has_classes() const;
};

enum class OnDamage {
  kThrow,  // FileError with the name of the first damaged record
  kNote,   // in ImageStats::damaged
};

// Reads and decodes every record, in several threads (--data_threads), with a progress line. The
// sums do not depend on the number of threads.
ImageStats MeasureImages(const Source& source, OnDamage on_damage);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_STATS_H_
