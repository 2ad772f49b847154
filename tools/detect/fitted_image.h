// Images as the input of nets that find objects, and the way back from the input's coordinates.
#ifndef DOPPIO_TOOLS_DETECT_FITTED_IMAGE_H_
#define DOPPIO_TOOLS_DETECT_FITTED_IMAGE_H_

#include <string>
#include <vector>

#include "data/augment/net_input.h"
#include "tools/detect/found_object.h"

namespace doppio {

// How an image is fitted to a net's input.
struct ImageFit {
  enum Kind {
    // The image is resized to the input's size, whatever its proportions.
    kDistort,
    // The image keeps its proportions and is resized so that it just fits into the input. Zeros
    // fill the input on the right and at the bottom.
    kPad,
    // The image keeps its proportions. Its short side becomes `short_side` pixels, or less if the
    // long side would exceed `max_side`. The input gets the image's size.
    kScale,
  };
  Kind kind = kDistort;
  int short_side = 0, max_side = 0;
};

struct FittedImage {
  std::vector<float> values;  // of the input, channel by channel
  ImageShape input;           // the input's shape
  int height = 0, width = 0;  // of the file's image
  int rows = 0, columns = 0;  // of the resized image
  double scale = 1;           // resized pixels per pixel of the file; of kPad and kScale
  std::string mistake;        // why the image could not be read; "" if it was
};

// Reads image files. Thread-safe.
class ImageFitter {
 public:
  // `record` describes how images become values of `input`. Its sizes are ignored.
  ImageFitter(const Preprocessing& record, const ImageShape& input, const ImageFit& fit);
  // Reads the file `path`. An image that cannot be read has a `mistake`.
  FittedImage Read(const std::string& path) const;
  // Returns how images become values, without sizes.
  const Preprocessing& record() const { return record_; }

 private:
  void Fit(Image* image, FittedImage* fitted) const;

  Preprocessing record_;
  const ImageShape input_;
  const ImageFit fit_;
};

// Returns the box, clipped to an image of `height` x `width` pixels.
PixelBox InsideImage(const PixelBox& box, int height, int width);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_FITTED_IMAGE_H_
