#include "tools/data/image_conversion.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/random.h"
#include "data/pipeline/order.h"
#include "tools/cli/flags.h"
#include "tools/data/count_progress.h"
#include "tools/data/in_order.h"

namespace doppio {
namespace {

constexpr size_t kShownErrors = 20;

struct Converted {
  std::string key, value;
  ImageShape shape;
  RecordRemarks remarks;
  std::string mistake;  // why the image cannot be converted; "": it has been
};

// Returns `lines` in the order of the records.
std::vector<ImageLine> InOrderOfRecords(std::vector<ImageLine> lines,
                                        const ConversionOptions& options) {
  if (!options.shuffle) return lines;
  std::vector<ImageLine> shuffled;
  for (const int64_t i : OrderOfRecords(static_cast<int64_t>(lines.size()), options)) {
    shuffled.push_back(lines[i]);
  }
  return shuffled;
}

// Returns Caffe's key: "00000042_cats/small one.jpg".
std::string KeyOf(int64_t record, const ImageLine& line) {
  char number[32];
  std::snprintf(number, sizeof(number), "%08lld_", static_cast<long long>(record));
  return number + line.path;
}

// Returns the index of the first image after the one with the database's last key.
int64_t FirstMissing(const DatabaseContents& found) {
  return found.records == 0 ? 0 : std::strtoll(found.last_key.c_str(), nullptr, 10) + 1;
}

class Conversion {
 public:
  Conversion(ListedImages images, const ConversionOptions& options, DatabaseWriter* writer)
      : images_(std::move(images)), options_(options), writer_(*writer) {
    images_.lines = InOrderOfRecords(std::move(images_.lines), options);
    result_.found = result_.records = writer->found().records;
  }

  ConversionResult Run() {
    const auto count = static_cast<int64_t>(images_.lines.size());
    const int64_t begin = FirstMissing(writer_.found());
    if (options_.check_size && begin > 0) FindFirstShape(begin);
    CountProgress progress(count - begin, "files");
    InOrder(
        count - begin, options_.threads, [&](int64_t i) { return Convert(begin + i); },
        [&](int64_t i, Converted image) {
          Take(begin + i, std::move(image));
          progress.Done(i + 1);
        });
    ThrowMistakes();
    if (narrowed_ > 1) LOG(WARNING) << narrowed_ << " images have values of more than 8 bits";
    if (palettes_ > 1) LOG(WARNING) << palettes_ << " images have a palette";
    if (result_.records == 0) {
      throw FileError("no image of '", images_.list.empty() ? images_.root : images_.list,
                      "' can be read");
    }
    writer_.Finish();
    result_.left_out = count - result_.records;
    return result_;
  }

 private:
  const ImageLine& LineOf(int64_t record) const { return images_.lines[record]; }

  Converted Convert(int64_t i) const {
    const ImageLine& line = LineOf(i);
    Converted image;
    try {
      const Datum datum = MakeImageDatum(ReadListedFile(images_.root + line.path), line.labels,
                                         options_.image, &image.shape, &image.remarks);
      image.key = KeyOf(i, line);
      image.value = datum.SerializeAsString();
    } catch (const FileError& e) {
      image.mistake = e.message();
    }
    return image;
  }

  // Sets `first_` to the shape of the first readable image, whose record an earlier run has
  // written.
  void FindFirstShape(int64_t end) {
    for (int64_t i = 0; i < end; ++i) {
      const Converted image = Convert(i);
      if (!image.mistake.empty()) continue;
      first_ = image.shape;
      first_path_ = images_.root + LineOf(i).path;
      return;
    }
  }

  void Take(int64_t i, Converted image) {
    if (image.mistake.empty() && options_.check_size && !first_path_.empty() &&
        image.shape != first_) {
      image.mistake =
          "it is " + image.shape.ToString() + ", but '" + first_path_ + "' is " + first_.ToString();
    }
    const ImageLine& line = LineOf(i);
    const std::string path = images_.root + line.path;
    if (!image.mistake.empty()) {
      const Error error = FileError(images_.At(line), "image '", path, "': ", image.mistake);
      if (options_.skip_bad) {
        LOG(WARNING) << error.what();
      } else if (mistakes_.size() < kShownErrors) {
        mistakes_.push_back(error);
      } else {
        ++not_shown_;
      }
      return;
    }
    if (image.remarks.palette_as_gray && palettes_++ == 0)
      LOG(WARNING) << "image '" << path << "'" << kPaletteAsGray;
    if (image.remarks.narrowed && narrowed_++ == 0) {
      LOG(WARNING) << "image '" << path << "' has values of more than 8 bits, of which the upper 8 "
                   << "are stored";
    }
    ++result_.records;
    if (first_path_.empty()) {
      first_ = image.shape;
      first_path_ = path;
    }
    // After a mistake, images are only checked, so that all mistakes are reported at once.
    if (mistakes_.empty()) writer_.Put(std::move(image.key), std::move(image.value));
  }

  void ThrowMistakes() {
    if (mistakes_.empty()) return;
    if (not_shown_ > 0) {
      mistakes_.push_back(FileError("and ", not_shown_, " images more"));
    }
    if (!images_.root.empty() && !EndsWith(images_.root, "/") && FileExists(images_.root + "/")) {
      mistakes_.push_back(FileError("'", images_.root,
                                    "' stands in front of each path as it is; did you mean '",
                                    images_.root, "/'?"));
    }
    mistakes_.push_back(FileError("no database was written; --skip_bad leaves such images out"));
    if (writer_.kept() > 0) {
      mistakes_.push_back(FileError("the first ", writer_.kept(),
                                    " records are kept: once the images are repaired, or with "
                                    "--skip_bad, the same command continues behind them"));
    }
    throw ErrorList(mistakes_);
  }

  ListedImages images_;
  const ConversionOptions options_;
  DatabaseWriter& writer_;
  ConversionResult result_;
  ImageShape first_;
  std::string first_path_;  // "": `first_` is not known yet
  std::vector<Error> mistakes_;
  int64_t not_shown_ = 0;
  int64_t narrowed_ = 0, palettes_ = 0;  // images
};

}  // namespace

DecodeOptions DecodingFromFlags(const ImageFileOptions& files) {
  DecodeOptions options;
  options.upright = files.exif_rotation;
  options.sixteen_bit_range =
      static_cast<int>(InRange("sixteen_bit_range", files.sixteen_bit_range, 256, kSixteenBits));
  return options;
}

ConversionOptions MakeConversionOptions(const ImageFileOptions& files, int64_t seed, int threads) {
  if (files.resize_width < 0 || files.resize_height < 0 ||
      (files.resize_width > 0) != (files.resize_height > 0)) {
    throw UsageError("--resize_width and --resize_height need two positive numbers; got ",
                     files.resize_width, " and ", files.resize_height);
  }
  ConversionOptions options;
  ImageDatumOptions& image = options.image;
  image.decode = DecodingFromFlags(files);
  image.decode.color = files.gray ? DecodeOptions::Color::kGray : DecodeOptions::Color::kColor;
  image.decode.height = files.resize_height;
  image.decode.width = files.resize_width;
  if (!files.encode_type.empty()) {
    CheckValue("encode_type", files.encode_type, {"jpg", "jpeg", "png"});
    image.format = files.encode_type == "png" ? ImageFormat::kPng : ImageFormat::kJpeg;
  }
  // As in Caffe, --encode_type implies --encoded.
  image.encoded = files.encoded || image.format.has_value();
  options.shuffle = files.shuffle;
  if (seed >= 0) options.seed = static_cast<uint64_t>(seed);
  options.check_size = files.check_size;
  options.skip_bad = files.skip_bad;
  options.threads = ThreadsOr(threads);
  return options;
}

std::vector<int64_t> OrderOfRecords(int64_t count, const ConversionOptions& options) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (!options.shuffle) return order;
  const Random random(options.seed, Stream("convert_imageset", "", 0));
  const Permutation permutation(random, 0, count);
  for (int64_t& i : order) i = permutation.At(i);
  return order;
}

std::string SettingsOf(const ListedImages& images, const ConversionOptions& options,
                       const std::string& backend) {
  uint32_t crc = 0;
  const auto add = [&crc](const void* data, size_t bytes) { crc = Crc32c(data, bytes, crc); };
  for (const ImageLine& line : images.lines) {
    add(line.path.c_str(), line.path.size() + 1);
    add(line.labels.data(), line.labels.size() * sizeof(float));
  }
  const ImageDatumOptions& image = options.image;
  const std::string format = !image.format                        ? "own"
                             : *image.format == ImageFormat::kPng ? "png"
                                                                  : "jpg";
  const std::string size =
      std::to_string(image.decode.height) + "x" + std::to_string(image.decode.width);
  const bool gray = image.decode.color == DecodeOptions::Color::kGray;
  return StrCat(
      "root: ", images.root, "\nimages: ", images.lines.size(),
      "\nCRC-32C of paths and labels: ", crc, "\nbackend: ", backend, "\ngray: ", gray ? 1 : 0,
      "\nresize: ", size, "\nexif_rotation: ", image.decode.upright ? 1 : 0,
      "\nsixteen_bit_range: ", image.decode.sixteen_bit_range,
      "\nencoded: ", image.encoded ? format : "no",
      "\nshuffled by seed: ", options.shuffle ? std::to_string(options.seed) : "no", "\n");
}

ConversionResult ConvertImages(ListedImages images, const ConversionOptions& options,
                               DatabaseWriter* writer) {
  return Conversion(std::move(images), options, writer).Run();
}

}  // namespace doppio
