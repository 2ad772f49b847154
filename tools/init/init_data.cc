#include "tools/init/init_data.h"

#include <algorithm>
#include <map>

#include "core/base/file.h"
#include "data/decode/decode.h"
#include "data/decode/decoding.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/list_split.h"

namespace doppio {
namespace {

// A class with fewer training images can hardly be learned.
constexpr int64_t kFewImages = 10;

// Returns what an image file that cannot be read is, by its first bytes.
std::string KindOfUnreadable(const std::string& path) {
  constexpr size_t kBytes = 64;
  if (!FileExists(path)) return "missing file";
  const std::string head = ReadHead(path, kBytes);
  if (head.empty()) return "empty file";
  const auto* bytes = reinterpret_cast<const uint8_t*>(head.data());
  const std::string format = FormatName(bytes, head.size());
  if (!format.empty()) return "damaged " + format + " image";
  const std::string other = ImageFormatName(bytes, head.size());  // "a HEIC image"
  return other.empty() ? "file without an image" : other.substr(other.find(' ') + 1);
}

// Reads all images of a part. Removes those that cannot be read from its list and appends them to
// `left_out`. Throws FileError if no image is left.
ImageStats MeasurePart(FoundPart* part, int threads, InitData* data) {
  ImageStats stats =
      MeasureImages(*part->source, threads, part->listed() ? OnDamage::kNote : OnDamage::kThrow);
  std::vector<bool> damaged(part->images.lines.size(), false);
  for (const DamagedRecord& record : stats.damaged) {
    const auto i = static_cast<size_t>(record.index);
    damaged[i] = true;
    const ImageLine& line = part->images.lines[i];
    const std::string path = part->images.root + line.path;
    data->left_out.push_back(
        {path + ": " + record.mistake, KindOfUnreadable(path), static_cast<int>(line.labels[0])});
  }
  std::vector<ImageLine> whole;
  for (size_t i = 0; i < damaged.size(); ++i) {
    if (!damaged[i]) whole.push_back(part->images.lines[i]);
  }
  part->images.lines = std::move(whole);
  if (stats.records > 0) return stats;
  throw FileError("none of the ", Thousands(part->source->size()), " images of '", part->path,
                  "' can be read: ", KindsText(data->left_out),
                  "; the first: ", data->left_out.front().text);
}

// Chooses how images are decoded. If the values of 16-bit images fill only a part of their range,
// measures the images again with scaled values.
DecodeOptions ChooseDecoding(int threads, FoundPart* train, ImageStats* stats, InitData* data) {
  DecodeOptions options;
  options.upright = stats->encoded > 0;
  if (stats->turned > 0) {
    data->notes.push_back(Thousands(stats->turned) +
                          " images are turned upright by their EXIF data");
  }
  if (stats->brightest == 0) return options;
  options.sixteen_bit_range = SixteenBitRangeFor(stats->brightest);
  const int factor = kSixteenBits / options.sixteen_bit_range;
  data->notes.push_back(
      StrCat("16-bit images, brightest value ", stats->brightest, ": ",
             factor > 1 ? StrCat("scaled by ", factor) : "their upper 8 bits are used"));
  if (factor == 1) return options;
  train->source = WithDecoding(std::move(train->source), options);
  *stats = MeasureImages(*train->source, threads, OnDamage::kNote);
  return options;
}

void CheckRecordLabels(const FoundPart& part, const ImageStats& stats) {
  if (!stats.has_classes()) {
    throw FileError(
        "'", part.path,
        "' has labels that are no classes; a classifier needs one whole number for each image");
  }
  const int64_t least = stats.classes.begin()->first;
  if (least >= 0) return;
  throw FileError("'", part.path, "' has label ", least, ", but classes are counted from 0");
}

std::string ListOfClasses(const InitData& data, const std::vector<size_t>& labels) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, labels.size()); ++i) {
    text += (i == 0 ? "" : ", ") + data.ClassCalled(labels[i]);
  }
  return text + (labels.size() > kShown ? ", ..." : "");
}

// Returns the labels for which `is` returns true.
template <class Is>
std::vector<size_t> ClassesWhere(const InitData& data, const Is& is) {
  std::vector<size_t> labels;
  for (size_t label = 0; label < data.class_sizes.size(); ++label) {
    if (is(label)) labels.push_back(label);
  }
  return labels;
}

// Adds a note that lists the classes for which `is` returns true, if there are any.
template <class Is>
void NoteClasses(const std::string& what, const Is& is, InitData* data) {
  const std::vector<size_t> labels = ClassesWhere(*data, is);
  if (labels.empty()) return;
  data->notes.push_back(StrCat(what, " in ", labels.size(), " of ", data->class_sizes.size(),
                               " classes: ", ListOfClasses(*data, labels)));
}

void TakeClassNames(std::vector<std::string> names, int64_t largest_label, InitData* data) {
  if (static_cast<int64_t>(names.size()) > largest_label) {
    data->class_names = std::move(names);
  } else if (!names.empty()) {
    data->notes.push_back(StrCat("there are names for ", names.size(),
                                 " classes only, but labels go up to ", largest_label,
                                 "; the names are not used"));
  }
  const size_t classes = std::max(data->class_names.size(), static_cast<size_t>(largest_label) + 1);
  data->class_sizes.resize(classes);
}

void CheckClasses(const std::string& path, InitData* data) {
  const std::vector<size_t> used =
      ClassesWhere(*data, [&](size_t label) { return data->class_sizes[label] > 0; });
  if (used.size() < 2) {
    throw FileError("all images of '", path, "' are of one class, ", data->ClassCalled(used[0]),
                    "; a classifier needs two or more");
  }
  if (data->train.kind == "folder" && used.size() < data->class_sizes.size()) {
    const auto empty = ClassesWhere(*data, [&](size_t i) { return data->class_sizes[i] == 0; });
    std::vector<LeftOutImage> of_class;
    for (const LeftOutImage& image : data->left_out) {
      if (image.label == static_cast<int>(empty[0])) of_class.push_back(image);
    }
    throw FileError("class '", data->ClassCalled(empty[0]), "' has no image that can be read, but ",
                    KindsText(of_class), "; the first: ", of_class.front().text);
  }
  if (2 * used.size() < data->class_sizes.size()) {
    throw FileError("labels of '", path, "' go up to ", data->class_sizes.size() - 1, ", but only ",
                    used.size(), " of them occur; number the classes from 0 on");
  }
}

void SplitOff(double share, uint64_t seed, InitData* data) {
  const std::vector<ImageLine> lines = std::move(data->train.images.lines);
  const size_t classes =
      ClassesWhere(*data, [&](size_t label) { return data->class_sizes[label] > 0; }).size();
  data->train.images.lines.clear();
  data->test.path = data->train.path;
  data->test.kind = data->train.kind;
  data->test.images.root = data->train.images.root;
  const std::vector<int> parts = PartOfEach(lines, {1 - share, share}, seed);
  for (size_t i = 0; i < lines.size(); ++i) {
    (parts[i] == 0 ? data->train : data->test).images.lines.push_back(lines[i]);
  }
  data->split_share = share;
  // With fewer than two images per class on average, the split cannot put every class in both
  // parts.
  if (2 * classes <= lines.size() && !data->test.images.lines.empty()) return;
  throw FileError(Thousands(static_cast<int64_t>(lines.size())), " images are too few to split ",
                  Significant(share),
                  " of every class off for tests; give more, or images for tests by --val_data");
}

std::vector<int64_t> CountLabels(const std::vector<ImageLine>& lines, size_t classes) {
  std::vector<int64_t> counts(classes);
  for (const ImageLine& line : lines) ++counts[line.labels[0]];
  return counts;
}

std::vector<int64_t> CountLabels(const ImageStats& stats, size_t classes) {
  std::vector<int64_t> counts(classes);
  for (const auto& [label, count] : stats.classes) counts[label] = count;
  return counts;
}

int64_t Sum(const std::vector<int64_t>& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

[[noreturn]] void ThrowNoTests(const FoundPart& train) {
  throw FileError("there is no data for tests beside '", train.path,
                  "' (val or test in place of train in its name), and ", train.kind,
                  " data is not split; name some with --val_data");
}

}  // namespace

std::string KindsText(const std::vector<LeftOutImage>& left_out) {
  std::map<std::string, int64_t> counts;
  for (const LeftOutImage& image : left_out) ++counts[image.kind];
  std::vector<std::pair<std::string, int64_t>> kinds(counts.begin(), counts.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) {
    const size_t noun = kind.find(" without");
    std::string text = kind;
    if (count > 1) text.insert(std::min(noun, text.size()), "s");
    texts.push_back(Thousands(count) + " " + text);
  }
  return Join(texts, ", ");
}

InitData ReadInitData(FoundData found, double test_share, uint64_t seed, int threads) {
  if (!found.test && !found.train.listed()) ThrowNoTests(found.train);
  InitData data;
  data.train = std::move(found.train);
  ImageStats stats = MeasurePart(&data.train, threads, &data);
  const DecodeOptions decoding = ChooseDecoding(threads, &data.train, &stats, &data);
  CheckRecordLabels(data.train, stats);
  TakeClassNames(std::move(found.class_names), stats.classes.rbegin()->first, &data);
  const size_t classes = data.class_sizes.size();
  data.class_sizes = CountLabels(stats, classes);
  CheckClasses(data.train.path, &data);

  data.facts = FactsOfImages(stats, data.train.listed());
  data.facts.decoding = decoding;
  data.facts.classes = static_cast<int>(classes);
  std::vector<int64_t> tests;
  if (found.test) {
    data.test = std::move(*found.test);
    const ImageStats test_stats = MeasurePart(&data.test, threads, &data);
    CheckRecordLabels(data.test, test_stats);
    const int64_t largest = test_stats.classes.rbegin()->first;
    if (largest >= data.facts.classes) {
      throw FileError("'", data.test.path, "' has label ", largest,
                      ", but the images for training have ", classes, " classes");
    }
    tests = CountLabels(test_stats, classes);
  } else {
    SplitOff(test_share, seed, &data);
    data.class_sizes = CountLabels(data.train.images.lines, classes);
    tests = CountLabels(data.test.images.lines, classes);
  }
  data.facts.train = Sum(data.class_sizes);
  data.facts.test = Sum(tests);
  NoteClasses(
      "no images for training", [&](size_t i) { return data.class_sizes[i] == 0; }, &data);
  NoteClasses(
      "fewer than " + std::to_string(kFewImages) + " images for training",
      [&](size_t i) { return data.class_sizes[i] > 0 && data.class_sizes[i] < kFewImages; }, &data);
  NoteClasses(
      "no images for tests", [&](size_t i) { return tests[i] == 0; }, &data);
  return data;
}

}  // namespace doppio
