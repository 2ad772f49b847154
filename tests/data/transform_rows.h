// Draws transform_param of layers that read images, and the stored images that it turns into
// samples of a wanted shape. The drawn fields are a legal combination.
#ifndef DOPPIO_TESTS_DATA_TRANSFORM_ROWS_H_
#define DOPPIO_TESTS_DATA_TRANSFORM_ROWS_H_

#include <optional>
#include <string>

#include "core/base/sample_set.h"
#include "core/tensor/shape.h"
#include "tests/random/draw.h"

namespace doppio {

struct ImageWish {
  // The group of layers that the wish is for, by the fields of transform_param that they read.
  enum Layer {
    kPlain,      // crop, mirror, means and scale: WindowData, records that are not 8-bit images
    kImages,     // all fields of Data and ImageData
    kAnnotated,  // those of AnnotatedData and BoxData
  } layer = kPlain;
  Shape sample;          // channels x height x width
  PixelSize stored;      // of all images; 0 x 0: to be drawn
  bool floats = false;   // the records are floats of about unit size, not bytes
  bool windows = false;  // kAnnotated: a batch_sampler cuts windows out of the images
  std::string folder;    // of data files
};

struct DrawnImages {
  std::string transform;  // the fields of transform_param
  PixelSize stored;       // of the images
  bool any_size = false;  // the images may be larger, each by itself
};

// Returns nothing if no images of the wanted size can become such samples.
std::optional<DrawnImages> DrawImages(Draw* draw, const ImageWish& wish);

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_TRANSFORM_ROWS_H_
