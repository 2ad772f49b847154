// Image files to a database: what convert_imageset and `data convert` share.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_CONVERSION_H_
#define DOPPIO_TOOLS_DATA_IMAGE_CONVERSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/database_writer.h"
#include "tools/data/image_datum.h"
#include "tools/data/listed_images.h"

namespace doppio {

struct ConversionOptions {
  ImageDatumOptions image;
  bool shuffle = false;  // by `seed`
  uint64_t seed = 1;
  bool check_size = false;  // all images must have one size
  bool skip_bad = false;    // leave out what cannot be read, with a warning for each
  int threads = 1;
};

// Of --gray, --resize_height and the others that the commands have in common. Throws UsageError.
ConversionOptions ConversionFromFlags();

// Returns which of `count` inputs becomes each record: 0, 1, 2, ..., shuffled if the options say
// so.
std::vector<int64_t> OrderOfRecords(int64_t count, const ConversionOptions& options);

// Whatever decides which records are made of the images, as text.
std::string SettingsOf(const ListedImages& images, const ConversionOptions& options,
                       const std::string& backend);

struct ConversionResult {
  int64_t records = 0;   // in the database
  int64_t found = 0;     // of them, those that were there before
  int64_t left_out = 0;  // images
};

// Fills and finishes the database, from behind the records that it has. Keys are Caffe's,
// "00000042_cats/small one.jpg", numbered by the place in the order of records. Without skip_bad
// all images are looked at, and the first 20 mistakes are thrown as one ErrorList, with their
// lines.
ConversionResult ConvertImages(ListedImages images, const ConversionOptions& options,
                               DatabaseWriter* writer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_CONVERSION_H_
