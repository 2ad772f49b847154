// Code that commands share which read image files as input of a deploy net.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_
#define DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_

#include <string>
#include <vector>

namespace doppio {

// Returns the values of "104,117,123", or the mean of each channel of a mean file, as Caffe's
// classification example computes them. Throws FileError if the file's number of channels is not
// `channels`.
std::vector<float> MeansOf(const std::string& file_or_values, int channels);

// Parses "256" or "240x320", height before width. Throws UsageError, whose message names --`flag`.
void ParseSize(const char* flag, const std::string& text, int* height, int* width);

// Returns true if `path` ends as names of images do, in any case: .jpg, .webp, .tif, also .heic and
// others that Doppio does not read.
bool IsImageName(std::string path);
// Returns true for files with such names, and for files that begin as JPEG, PNG, WebP, TIFF or GIF
// do, whatever their names.
bool IsImageFile(const std::string& path);

// Returns "a HEIC image" if the first bytes of a file are those of an image that Doppio does not
// read, else "".
std::string UnreadFormatOf(const std::string& path);

// Returns the indices of the `top` largest values, largest first. Among equal values the lower
// index comes first, and NaN counts as minus infinity.
std::vector<int> TopClasses(const float* values, int count, int top);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_INPUT_H_
