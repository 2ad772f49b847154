// `data stat`: how many images, of what sizes and classes, and the mean and deviation of channels.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/file.h"
#include "data/decode.h"
#include "data/whole_label.h"
#include "tools/count_progress.h"
#include "tools/data_opened.h"
#include "tools/data_verbs.h"
#include "tools/flags.h"
#include "tools/in_order.h"
#include "tools/json_text.h"
#include "tools/text_table.h"

namespace doppio {
namespace {

// Records that one thread reads at a time; constant, so that sums do not depend on the threads.
constexpr int64_t kChunkOfRecords = 64;
constexpr size_t kShownSizes = 10;

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

struct Stats {
  int64_t records = 0, encoded = 0, bytes = 0;
  std::map<std::string, int64_t> sizes;
  std::map<int64_t, int64_t> classes;            // records by label, where each has one whole label
  std::map<int, std::vector<ChannelSums>> sums;  // by the number of channels
  std::map<size_t, int64_t> label_counts;
  uint32_t checksum = 0;  // of the checksums of all records, in order

  void Add(const Stats& other) {
    records += other.records;
    encoded += other.encoded;
    bytes += other.bytes;
    for (const auto& [size, count] : other.sizes) sizes[size] += count;
    for (const auto& [label, count] : other.classes) classes[label] += count;
    for (const auto& [labels, count] : other.label_counts) label_counts[labels] += count;
    for (const auto& [channels, of] : other.sums) {
      std::vector<ChannelSums>& to = sums[channels];
      to.resize(of.size());
      for (size_t c = 0; c < of.size(); ++c) to[c].Add(of[c]);
    }
    checksum = Crc32c(&other.checksum, sizeof(other.checksum), checksum);
  }
};

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
    (*sums)[static_cast<size_t>(c)].Add(of_image);
  }
}

void AddRecord(const Record& record, Stats* stats) {
  thread_local Image image;  // keeps its buffer from record to record
  const bool encoded = record.encoded != nullptr;
  if (encoded) Decode(record.encoded, record.encoded_bytes, record.decode, &image);
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
  ++stats->sizes[pixels.shape.ToString()];
  ++stats->label_counts[record.labels.size()];
  if (const std::optional<int> label = WholeLabel(record.labels)) ++stats->classes[*label];
  stats->checksum = Crc32c(content, bytes, stats->checksum);
  stats->checksum =
      Crc32c(record.labels.data(), record.labels.size() * sizeof(float), stats->checksum);
}

Stats SourceStats(const Source& source) {
  const int64_t count = source.size();
  CountProgress progress(count, "records");
  Stats all;
  InOrder((count + kChunkOfRecords - 1) / kChunkOfRecords, ThreadsOr(FLAGS_data_threads),
          [&](int64_t chunk) {
            thread_local Record record;
            Stats stats;
            for (int64_t i = chunk * kChunkOfRecords;
                 i < std::min(count, (chunk + 1) * kChunkOfRecords); ++i) {
              try {
                source.Read(i, &record);
                AddRecord(record, &stats);
              } catch (const Error& e) {
                RethrowWithContext(e, {}, source.Name(i));
              }
            }
            return stats;
          },
          [&](int64_t chunk, const Stats& stats) {
            all.Add(stats);
            progress.Done(std::min(count, (chunk + 1) * kChunkOfRecords));
          });
  return all;
}

// The most frequent first.
std::vector<std::pair<std::string, int64_t>> ByCount(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

// Labels are classes where each record has one, a whole one.
bool HasClasses(const Stats& stats) {
  int64_t with = 0;
  for (const auto& [label, count] : stats.classes) with += count;
  return with == stats.records;
}

std::string Share(int64_t part, int64_t of) {
  return Fixed(100 * static_cast<double>(part) / static_cast<double>(of), 1) + " %";
}

void PrintText(const Stats& stats, const OpenedData& data) {
  std::cout << Thousands(stats.records) << " images, " << Thousands(stats.encoded)
            << " of them encoded, " << Thousands(stats.bytes) << " bytes\n\n";
  TextTable sizes({"channels x height x width", ">images", ">share"});
  const auto sorted = ByCount(stats.sizes);
  for (size_t i = 0; i < std::min(kShownSizes, sorted.size()); ++i) {
    sizes.Add(
        {sorted[i].first, Thousands(sorted[i].second), Share(sorted[i].second, stats.records)});
  }
  sizes.Print(std::cout);
  if (sorted.size() > kShownSizes) {
    std::cout << "and " << sorted.size() - kShownSizes << " sizes more\n";
  }
  if (HasClasses(stats)) {
    std::cout << '\n';
    TextTable classes({"class", ">images", ">share"});
    for (const auto& [label, count] : stats.classes) {
      classes.Add({ClassName(data.classes, label), Thousands(count), Share(count, stats.records)});
    }
    classes.Print(std::cout);
  } else {
    for (const auto& [labels, count] : stats.label_counts) {
      std::cout << Thousands(count) << " images with " << labels << " labels\n";
    }
  }
  std::cout << '\n';
  TextTable channels({">channels", ">channel", ">mean", ">deviation"});
  for (const auto& [count, sums] : stats.sums) {
    for (size_t c = 0; c < sums.size(); ++c) {
      channels.Add({c == 0 ? std::to_string(count) : "", std::to_string(c),
                    Significant(sums[c].mean()), Significant(sums[c].deviation())});
    }
  }
  channels.Print(std::cout);
}

void PrintJson(const Stats& stats, const OpenedData& data) {
  nlohmann::json out = {{"kind", data.kind},
                        {"images", stats.records},
                        {"encoded", stats.encoded},
                        {"bytes", stats.bytes},
                        {"checksum", stats.checksum},
                        {"sizes", nlohmann::json::array()},
                        {"channels", nlohmann::json::array()}};
  for (const auto& [size, count] : ByCount(stats.sizes)) {
    out["sizes"].push_back({{"shape", size}, {"images", count}});
  }
  if (HasClasses(stats)) {
    out["classes"] = nlohmann::json::array();
    for (const auto& [label, count] : stats.classes) {
      nlohmann::json row = {{"label", label}, {"images", count}};
      if (label >= 0 && label < static_cast<int64_t>(data.classes.size())) {
        row["name"] = data.classes[static_cast<size_t>(label)];
      }
      out["classes"].push_back(row);
    }
  }
  for (const auto& [count, sums] : stats.sums) {
    for (size_t c = 0; c < sums.size(); ++c) {
      out["channels"].push_back({{"channels", count},
                                 {"channel", c},
                                 {"mean", sums[c].mean()},
                                 {"deviation", sums[c].deviation()}});
    }
  }
  std::cout << JsonText(out) << '\n';
}

}  // namespace

ExitCode DataStat(const CommandLine& line, bool* began) {
  const OpenedData data = OpenData(line, line.files[0]);
  *began = true;
  const Stats stats = SourceStats(*data.source);
  FLAGS_json ? PrintJson(stats, data) : PrintText(stats, data);
  return ExitCode::kDone;
}

}  // namespace doppio
