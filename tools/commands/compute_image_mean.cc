// `compute_image_mean` and `data mean`: compute the mean of all images of a database, per pixel.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "data/augment/mean_file.h"
#include "data/decode/decode.h"
#include "data/decode/decoding.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/count_progress.h"
#include "tools/data/databases.h"
#include "tools/data/image_conversion.h"
#include "tools/data/in_order.h"

namespace doppio {
namespace {

// The number of records that one thread adds up at a time. It is constant, so that the rounding of
// sums does not depend on the number of threads.
constexpr int64_t kChunkRecords = 64;

struct Sum {
  ImageShape shape;
  std::vector<double> planes;
};

template <class T>
void AddPixels(const T* from, const Pixels& pixels, std::vector<double>* planes) {
  const int channels = pixels.shape.channels;
  const int64_t plane = int64_t{pixels.shape.height} * pixels.shape.width;
  for (int c = 0; c < channels; ++c) {
    double* to = planes->data() + c * plane;
    const T* first = pixels.interleaved ? from + c : from + c * plane;
    const int64_t step = pixels.interleaved ? channels : 1;
    for (int64_t i = 0; i < plane; ++i) to[i] += static_cast<double>(first[i * step]);
  }
}

void AddRecord(const Record& record, Sum* sum) {
  thread_local Image image;  // thread_local to reuse its buffer
  if (record.encoded != nullptr)
    Decode(record.encoded, record.encoded_bytes, record.decode, &image);
  const Pixels pixels = record.encoded != nullptr ? image.pixels() : record.pixels;
  if (sum->planes.empty()) {
    sum->shape = pixels.shape;
    sum->planes.assign(pixels.shape.count(), 0);
  }
  if (pixels.shape != sum->shape) {
    throw FileError("the image is " + pixels.shape.ToString() + ", but the images before it are " +
                    sum->shape.ToString() + "; the mean is only defined for images of one size");
  }
  if (pixels.bytes != nullptr) {
    AddPixels(pixels.bytes, pixels, &sum->planes);
  } else {
    AddPixels(pixels.floats, pixels, &sum->planes);
  }
}

// Returns the sum of the records in [begin, end).
Sum SumOf(const Source& source, int64_t begin, int64_t end) {
  thread_local Record record;
  Sum sum;
  for (int64_t i = begin; i < end; ++i) {
    try {
      source.Read(i, &record);
      AddRecord(record, &sum);
    } catch (const Error& e) {
      RethrowWithContext(e, {}, source.Name(i));
    }
  }
  return sum;
}

MeanImage MeanOf(const Source& source, int threads) {
  const int64_t count = source.size();
  CountProgress progress(count, "files");
  Sum all;
  InOrder((count + kChunkRecords - 1) / kChunkRecords, threads,
          [&](int64_t i) {
            return SumOf(source, i * kChunkRecords, std::min(count, (i + 1) * kChunkRecords));
          },
          [&](int64_t i, const Sum& sum) {
            if (i == 0) {
              all = sum;
            } else if (sum.shape != all.shape) {
              throw FileError(source.Name(i * kChunkRecords) + ": the image is " +
                              sum.shape.ToString() + ", but the images before it are " +
                              all.shape.ToString() +
                              "; the mean is only defined for images of one size");
            } else {
              for (size_t j = 0; j < all.planes.size(); ++j) all.planes[j] += sum.planes[j];
            }
            progress.Done(std::min(count, (i + 1) * kChunkRecords));
          });
  MeanImage mean;
  mean.shape = all.shape;
  for (const double sum : all.planes) {
    mean.values.push_back(static_cast<float>(sum / static_cast<double>(count)));
  }
  return mean;
}

}  // namespace

ExitCode DataMean(const CommandLine& line, bool* began) {
  const std::unique_ptr<Source> source =
      WithDecoding(OpenDatabase(line.flags.backend, line.files[0]), DecodingFromFlags(line.flags));
  *began = true;
  const MeanImage mean = MeanOf(*source, ThreadsOr(line.flags.data_threads));
  if (line.files.size() == 2) WriteMeanFile(mean, line.files[1]);
  const std::vector<double> channels = mean.ChannelMeans();
  if (line.flags.json) {
    nlohmann::json out = {{"images", source->size()},
                          {"shape", {mean.shape.channels, mean.shape.height, mean.shape.width}},
                          {"mean_values", channels}};
    if (line.files.size() == 2) out["file"] = line.files[1];
    std::cout << JsonText(out) << '\n';
    return ExitCode::kDone;
  }
  std::cout << Thousands(source->size()) << " images of " << mean.shape.ToString() << '\n';
  for (size_t c = 0; c < channels.size(); ++c) {
    std::cout << "mean_value channel [" << c << "]: " << Significant(channels[c]) << '\n';
  }
  if (line.files.size() == 2) std::cout << line.files[1] << " written\n";
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "compute_image_mean",
                {"computes the mean of a database's images, for mean_file and mean_value",
                 Words("backend exif_rotation sixteen_bit_range data_threads max_pixels json"),
                 {},
                 "INPUT_DB [OUTPUT_FILE]",
                 "doppio compute_image_mean --backend=lmdb train_lmdb mean.binaryproto",
                 &DataMean});

}  // namespace doppio
