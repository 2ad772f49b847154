// Reads image files as input of a deploy net.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_
#define DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_

#include <string>
#include <vector>

#include "data/augment/augment.h"
#include "data/decode/decode.h"

namespace doppio {

struct ImageInputOptions {
  ImageShape input;  // the net's input: one channel is gray, three are blue, green, red
  bool rgb = false;  // three channels are red, green, blue
  // Images are resized to this size before the input is cut from their middle; 0: the input's size.
  int height = 0, width = 0;
  bool center_crop = false;  // before resizing, crop the largest middle part with the proportions
                             // of the resized image
  std::vector<float> means;  // no value, one value, or one per channel
  float scale = 1;           // (pixel - mean) * scale
};

// Converts image files to input values. Thread-safe. The constructor throws UsageError if the
// options contradict each other.
class ImageInput {
 public:
  explicit ImageInput(const ImageInputOptions& options);
  // Returns input.count() values, channel by channel, for the image file with the content `file`.
  // Throws FileError if the image is damaged.
  std::vector<float> Read(const std::string& file) const;
  // Returns the values of a decoded image with the channels of the input. Changes the image.
  std::vector<float> Convert(Image* image) const;

 private:
  ImageInputOptions options_;
  Augment augment_;
};

// Decodes an image file to `channels` channels: gray, or blue, green, red. Throws FileError if the
// image is damaged.
Image DecodeTo(int channels, const std::string& file);

// Returns the values of "104,117,123", or the mean of each channel of a mean file, as Caffe's
// classification example computes them. Throws FileError if the file's number of channels is not
// `channels`.
std::vector<float> MeansOf(const std::string& file_or_values, int channels);

// Parses "256" or "240x320", height before width. Throws UsageError, whose message names --`flag`.
void ParseSize(const char* flag, const std::string& text, int* height, int* width);

// Returns true if `path` ends in .jpg, .jpeg, .png, .bmp, .ppm, .pgm or .pbm, in any case.
bool IsImageName(const std::string& path);

// Returns the given files, and in place of each folder its image files (see IsImageName), sorted.
// Throws FileError for a folder without image files.
std::vector<std::string> FindImages(const std::vector<std::string>& files_and_folders);

// Returns the indices of the `top` largest values, largest first. Among equal values the lower
// index comes first, and NaN counts as minus infinity.
std::vector<int> TopClasses(const float* values, int count, int top);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_
