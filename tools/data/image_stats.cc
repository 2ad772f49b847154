#include "tools/data/image_stats.h"

#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/decode/decode.h"
#include "data/decode/exif.h"
#include "data/pipeline/remarks.h"
#include "data/record/whole_label.h"
#include "tools/data/count_progress.h"
#include "tools/data/in_order.h"

namespace doppio {
namespace {

// Records per work item. Constant, so that the order of summation does not depend on the number of
// threads.
constexpr int64_t kChunkOfRecords = 64;

void AddStats(const ImageStats& more, ImageStats* all) {
  all->records += more.records;
  all->encoded += more.encoded;
  all->bytes += more.bytes;
  all->turned += more.turned;
  all->sixteen_bit += more.sixteen_bit;
  all->brightest = std::max(all->brightest, more.brightest);
  for (const auto& [text, size] : more.sizes) {
    SizeCount& to = all->sizes[text];
    to.shape = size.shape;
    to.images += size.images;
  }
  for (const auto& [label, count] : more.classes) all->classes[label] += count;
  for (const auto& [labels, count] : more.label_counts) all->label_counts[labels] += count;
  for (const auto& [channels, of] : more.sums) {
    std::vector<ChannelSums>& to = all->sums[channels];
    to.resize(of.size());
    for (size_t c = 0; c < of.size(); ++c) to[c].Add(of[c]);
  }
  all->checksum = Crc32c(&more.checksum, sizeof(more.checksum), all->checksum);
  all->damaged.insert(all->damaged.end(), more.damaged.begin(), more.damaged.end());
}

template <class T>
void AddChannels(const T* from, const Pixels& pixels, std::vector<ChannelSums>* sums) {
  const int channels = pixels.shape.channels;
  const int64_t plane = int64_t{pixels.shape.height} * pixels.shape.width;
  sums->resize(static_cast<size_t>(channels));
  for (int c = 0; c < channels; ++c) {
    const T* first = pixels.interleaved ? from + c : from + c * plane;
    const int64_t step = pixels.interleaved ? channels : 1;
    ChannelSums of_image{plane, 0, 0};
    for (int64_t i = 0; i < plane; ++i) {
      const auto value = static_cast<double>(first[i * step]);
      of_image.sum += value;
      of_image.squares += value * value;
    }
    (*sums)[c].Add(of_image);
  }
}

// Throws FileError if pixels that are floats, or labels, are not finite.
void CheckFinite(const Record& record) {
  const auto check = [](const float* values, int64_t count, const char* what) {
    const float* const end = values + count;
    const float* const lost = std::find_if(values, end, [](float v) { return !std::isfinite(v); });
    if (lost == end) return;
    throw FileError("its ", what, " ", lost - values, ", counted from 0, is NaN or infinity");
  };
  const Pixels& pixels = record.pixels;
  if (record.encoded == nullptr && pixels.floats != nullptr)
    check(pixels.floats, pixels.shape.count(), "value");
  check(record.labels.data(), static_cast<int64_t>(record.labels.size()), "label");
}

void AddRecord(Record* read, ImageStats* stats) {
  const Record& record = *read;
  thread_local Image image;  // reuses its buffer for every record
  const bool encoded = record.encoded != nullptr;
  CheckFinite(record);
  if (encoded) Decode(record.encoded, record.encoded_bytes, record.decode, &image);
  if (encoded) {
    stats->turned +=
        record.decode.upright && OrientationOf(record.encoded, record.encoded_bytes) != kUpright;
    stats->sixteen_bit += image.brightest > 0;
    stats->brightest = std::max(stats->brightest, image.brightest);
  }
  read->remarks.palette_as_gray |= encoded && image.palette_as_gray;
  const Pixels pixels = encoded ? image.pixels() : record.pixels;
  std::vector<ChannelSums>& sums = stats->sums[pixels.shape.channels];
  const void* content = record.encoded;
  size_t bytes = record.encoded_bytes;
  if (!encoded) {
    const bool floats = pixels.floats != nullptr;
    content = floats ? static_cast<const void*>(pixels.floats) : pixels.bytes;
    bytes = static_cast<size_t>(pixels.shape.count()) * (floats ? sizeof(float) : 1);
  }
  if (pixels.bytes != nullptr) {
    AddChannels(pixels.bytes, pixels, &sums);
  } else {
    AddChannels(pixels.floats, pixels, &sums);
  }
  ++stats->records;
  stats->encoded += encoded;
  stats->bytes += static_cast<int64_t>(bytes);
  SizeCount& size = stats->sizes[pixels.shape.ToString()];
  size.shape = pixels.shape;
  ++size.images;
  ++stats->label_counts[record.labels.size()];
  if (const std::optional<int> label = WholeLabel(record.labels)) ++stats->classes[*label];
  stats->checksum = Crc32c(content, bytes, stats->checksum);
  stats->checksum =
      Crc32c(record.labels.data(), record.labels.size() * sizeof(float), stats->checksum);
}

// Measures the records [first, end).
ImageStats MeasureChunk(const Source& source, int64_t first, int64_t end, OnDamage on_damage,
                        Remarks* remarks) {
  thread_local Record record;
  ImageStats stats;
  for (int64_t i = first; i < end; ++i) {
    try {
      record.remarks = {};
      source.Read(i, &record);
      AddRecord(&record, &stats);
      remarks->Take(record.remarks, source, i);
    } catch (const Error& e) {
      if (on_damage == OnDamage::kThrow) RethrowWithContext(e, {}, source.Name(i));
      stats.damaged.push_back({i, e.message()});
    }
  }
  return stats;
}

}  // namespace

bool ImageStats::has_classes() const {
  int64_t with = 0;
  for (const auto& [label, count] : classes) with += count;
  return with == records;
}

ImageStats MeasureImages(const Source& source, int threads, OnDamage on_damage) {
  const int64_t count = source.size();
  CountProgress progress(count, "records");
  ImageStats all;
  Remarks remarks;
  InOrder((count + kChunkOfRecords - 1) / kChunkOfRecords, threads,
          [&](int64_t chunk) {
            return MeasureChunk(source, chunk * kChunkOfRecords,
                                std::min(count, (chunk + 1) * kChunkOfRecords), on_damage,
                                &remarks);
          },
          [&](int64_t chunk, const ImageStats& stats) {
            AddStats(stats, &all);
            progress.Done(std::min(count, (chunk + 1) * kChunkOfRecords));
          });
  return all;
}

}  // namespace doppio
