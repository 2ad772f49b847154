// Converts image files to a database, for convert_imageset and `data convert`.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_CONVERSION_H_
#define DOPPIO_TOOLS_DATA_IMAGE_CONVERSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/database_writer.h"
#include "tools/cli/options.h"
#include "tools/data/image_datum.h"
#include "tools/data/listed_images.h"

namespace doppio {

struct ConversionOptions {
  ImageDatumOptions image;
  bool shuffle = false;  // in an order that depends on `seed`
  uint64_t seed = 1;
  bool check_size = false;  // require that all images have one size
  bool skip_bad = false;    // skip unreadable images with a warning instead of failing
  int threads = 1;
};

// Returns the options that turn images and scale their values. Throws UsageError.
DecodeOptions DecodingFromFlags(const ImageFileOptions& files);

// Returns the options of a conversion. A negative `seed` stands for 1, and 0 threads for as many as
// ThreadsOr chooses. Throws UsageError.
ConversionOptions MakeConversionOptions(const ImageFileOptions& files, int64_t seed, int threads);

// Returns which of `count` inputs becomes each record: 0, 1, 2, ..., shuffled if the options say
// so.
std::vector<int64_t> OrderOfRecords(int64_t count, const ConversionOptions& options);

// Returns a text of all settings that affect the records, by which a resumed conversion recognises
// its own database.
std::string SettingsOf(const ListedImages& images, const ConversionOptions& options,
                       const std::string& backend);

struct ConversionResult {
  int64_t records = 0;   // in the finished database
  int64_t found = 0;     // records of `records` that an earlier run had written
  int64_t left_out = 0;  // images that were skipped
};

// Appends the missing records to the database and finishes it. Keys are Caffe's,
// "00000042_cats/small one.jpg", where the number is the index in the order of records. Unless
// `skip_bad` is set, reads all images even after a mistake and throws the first 20 mistakes, with
// their lines, as one ErrorList.
ConversionResult ConvertImages(ListedImages images, const ConversionOptions& options,
                               DatabaseWriter* writer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_CONVERSION_H_
