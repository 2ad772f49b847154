// Image files as a deploy net takes them, and its means.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_
#define DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_

#include <string>
#include <vector>

#include "data/augment/augment.h"
#include "data/decode/decode.h"

namespace doppio {

struct ImageInputOptions {
  ImageShape input;  // of the net: one channel is gray, three are blue, green, red
  bool rgb = false;  // three are red, green, blue
  int height = 0,
      width =
          0;  // images are resized to this, and the input is cut out of the middle; 0: to the input
  bool center_crop = false;  // first the largest middle part of the proportions that are resized to
  std::vector<float> means;  // none, one, or one for each channel
  float scale = 1;           // (pixel - mean) * scale
};

// Thread-safe. Throws UsageError where the options contradict each other.
class ImageInput {
 public:
  explicit ImageInput(const ImageInputOptions& options);
  // `file` is a JPEG's or PNG's content. Gives input.count() values, planes. Throws FileError.
  std::vector<float> Read(const std::string& file) const;

 private:
  ImageInputOptions options_;
  Augment augment_;
};

// "104,117,123", or the means of the channels of a mean file, as Caffe's classification takes them.
std::vector<float> MeansOf(const std::string& file_or_values, int channels);

// "256", or "240x320": height and width. Throws UsageError.
void ParseSize(const char* flag, const std::string& text, int* height, int* width);

// Whether it ends as names of JPEG and PNG files do.
bool IsImageName(const std::string& path);

// The JPEG and PNG files, by their names, that are meant: a folder's are sorted. FileError for a
// folder without any.
std::vector<std::string> FindImages(const std::vector<std::string>& files_and_folders);

// The classes with the largest values, the largest first; of equal ones the one with the lower
// number.
std::vector<int> TopClasses(const float* values, int count, int top);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_
