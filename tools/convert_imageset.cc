// `convert_imageset`: image files to a database.
#include <gflags/gflags.h>

#include <cctype>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/random.h"
#include "data/database_writer.h"
#include "data/image_lines.h"
#include "data/order.h"
#include "tools/command.h"
#include "tools/count_progress.h"
#include "tools/databases.h"
#include "tools/flags.h"
#include "tools/image_datum.h"
#include "tools/in_order.h"
#include "tools/text_table.h"

DEFINE_bool(gray, false, "gray images, of one channel; otherwise blue, green, red");
DEFINE_bool(shuffle, false, "records in random order, by --seed");
DEFINE_int32(resize_width, 0, "<N> width to bring all images to; 0 = as they are");
DEFINE_int32(resize_height, 0, "<N> height to bring all images to; 0 = as they are");
DEFINE_bool(check_size, false, "all images must have the same size");
DEFINE_bool(encoded, false, "store JPEG or PNG files, not pixels");
DEFINE_string(encode_type, "",
              "<jpg|png> format to store with --encoded; without it each file's own");
DEFINE_bool(skip_bad, false, "leave out images that cannot be read, instead of making no database");

namespace doppio {
namespace {

constexpr size_t kShownErrors = 20;

struct Converted {
  std::string key, value;
  ImageShape shape;
  std::string mistake;  // why there is none
};

ImageDatumOptions OptionsFromImageFlags() {
  if (FLAGS_resize_width < 0 || FLAGS_resize_height < 0 ||
      (FLAGS_resize_width > 0) != (FLAGS_resize_height > 0)) {
    throw UsageError("--resize_width and --resize_height want two positive numbers, got " +
                     std::to_string(FLAGS_resize_width) + " and " +
                     std::to_string(FLAGS_resize_height));
  }
  ImageDatumOptions options;
  options.decode.color = FLAGS_gray ? DecodeOptions::Color::kGray : DecodeOptions::Color::kColor;
  options.decode.height = FLAGS_resize_height;
  options.decode.width = FLAGS_resize_width;
  if (!FLAGS_encode_type.empty()) {
    CheckValue("encode_type", FLAGS_encode_type, {"jpg", "jpeg", "png"});
    options.format = FLAGS_encode_type == "png" ? ImageFormat::kPng : ImageFormat::kJpeg;
  }
  // As in Caffe, a format means that it is wanted.
  options.encoded = FLAGS_encoded || options.format.has_value();
  return options;
}

// Which line becomes each record.
std::vector<ImageLine> InOrderOfRecords(std::vector<ImageLine> lines) {
  if (!FLAGS_shuffle) return lines;
  const auto count = static_cast<int64_t>(lines.size());
  const Random random(FLAGS_seed >= 0 ? static_cast<uint64_t>(FLAGS_seed) : 1,
                      Stream("convert_imageset", "", 0));
  const Permutation order(random, 0, count);
  std::vector<ImageLine> shuffled;
  for (int64_t i = 0; i < count; ++i) shuffled.push_back(lines[static_cast<size_t>(order.At(i))]);
  return shuffled;
}

// Caffe's: "00000042_cats/small one.jpg".
std::string KeyOf(int64_t record, const ImageLine& line) {
  char number[32];
  std::snprintf(number, sizeof(number), "%08lld_", static_cast<long long>(record));
  return number + line.path;
}

class Conversion {
 public:
  Conversion(const std::string& root, const std::string& list, const std::string& database)
      : root_(root),
        list_(list),
        options_(OptionsFromImageFlags()),
        lines_(InOrderOfRecords(ReadImageLines(list))),
        writer_(DatabaseBackend(), database) {}

  // Records written.
  int64_t Run() {
    const auto count = static_cast<int64_t>(lines_.size());
    CountProgress progress(count, "files");
    InOrder(
        count, ThreadsOr(FLAGS_data_threads), [&](int64_t i) { return Convert(i); },
        [&](int64_t i, Converted image) {
          Take(i, std::move(image));
          progress.Done(i + 1);
        });
    ThrowMistakes();
    if (written_ == 0) throw FileError("no image of '" + list_ + "' can be read");
    writer_.Finish();
    return written_;
  }

  int64_t left_out() const { return static_cast<int64_t>(lines_.size()) - written_; }

 private:
  Converted Convert(int64_t i) const {
    const ImageLine& line = lines_[static_cast<size_t>(i)];
    Converted image;
    try {
      const Datum datum =
          MakeImageDatum(ReadFile(root_ + line.path), line.labels, options_, &image.shape);
      image.key = KeyOf(i, line);
      image.value = datum.SerializeAsString();
    } catch (const FileError& e) {
      image.mistake = e.message();
    }
    return image;
  }

  void Take(int64_t i, Converted image) {
    if (image.mistake.empty() && FLAGS_check_size && written_ > 0 && image.shape != first_) {
      image.mistake =
          "it is " + image.shape.ToString() + ", but '" + first_path_ + "' is " + first_.ToString();
    }
    const ImageLine& line = lines_[static_cast<size_t>(i)];
    if (!image.mistake.empty()) {
      const Error error = FileError(SourceLoc{list_, line.number},
                                    "image '" + root_ + line.path + "': " + image.mistake);
      if (FLAGS_skip_bad) {
        LOG(WARNING) << error.what();
      } else if (mistakes_.size() < kShownErrors) {
        mistakes_.push_back(error);
      } else {
        ++not_shown_;
      }
      return;
    }
    if (written_++ == 0) {
      first_ = image.shape;
      first_path_ = root_ + line.path;
    }
    // What comes after a mistake is only looked at, so that all mistakes are told at once.
    if (mistakes_.empty()) writer_.Put(std::move(image.key), std::move(image.value));
  }

  void ThrowMistakes() {
    if (mistakes_.empty()) return;
    if (not_shown_ > 0) {
      mistakes_.push_back(FileError("and " + std::to_string(not_shown_) + " images more"));
    }
    mistakes_.push_back(FileError("no database was written; --skip_bad leaves such images out"));
    throw ErrorList(mistakes_);
  }

  const std::string root_, list_;
  const ImageDatumOptions options_;
  const std::vector<ImageLine> lines_;
  DatabaseWriter writer_;
  ImageShape first_;
  std::string first_path_;
  std::vector<Error> mistakes_;
  int64_t not_shown_ = 0;
  int64_t written_ = 0;
};

ExitCode RunConvert(const CommandLine& line, bool* began) {
  if (line.files.size() != 3) {
    throw UsageError(
        "'convert_imageset' needs a folder, a list of images and the database to make\n"
        "try: doppio convert_imageset --help");
  }
  Conversion conversion(line.files[0], line.files[1], line.files[2]);
  *began = true;
  const int64_t written = conversion.Run();
  if (FLAGS_json) {
    std::cout << nlohmann::json{{"database", line.files[2]},
                                {"records", written},
                                {"left_out", conversion.left_out()}}
                     .dump(2)
              << '\n';
    return ExitCode::kDone;
  }
  std::cout << line.files[2] << " written, " << Thousands(written) << " images";
  if (conversion.left_out() > 0) std::cout << ", " << conversion.left_out() << " left out";
  std::cout << '\n';
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "convert_imageset",
                {"makes a database of image files",
                 {"backend", "gray", "shuffle", "seed", "resize_width", "resize_height",
                  "check_size", "encoded", "encode_type", "skip_bad", "data_threads", "json"},
                 {},
                 "ROOTFOLDER/ LISTFILE DB_NAME",
                 "doppio convert_imageset --resize_height=256 --resize_width=256 --shuffle images/ "
                 "train.txt train_lmdb",
                 &RunConvert});

}  // namespace
}  // namespace doppio
