// Draws single fields of transform_param.
#ifndef DOPPIO_TESTS_DATA_TRANSFORM_FIELDS_H_
#define DOPPIO_TESTS_DATA_TRANSFORM_FIELDS_H_

#include <cstdint>
#include <string>

#include "core/base/sample_set.h"
#include "tests/random/draw.h"

namespace doppio {

// Draws up to three interp_mode.
std::string DrawInterpolations(Draw* draw);
// Draws the fields of a ResizeParameter besides prob and resize_mode.
std::string DrawResizeFields(Draw* draw, const PixelSize& size);
// Draws the fields of random_aspect_ratio_param besides resize_param.
std::string DrawAspectFields(Draw* draw);
// Draw a message.
std::string DrawExpansion(Draw* draw);
std::string DrawDistortion(Draw* draw);
std::string DrawNoise(Draw* draw, bool colour);
std::string DrawRotation(Draw* draw);
std::string DrawShift(Draw* draw);
std::string DrawCutout(Draw* draw);
std::string DrawErasing(Draw* draw);
// Draws rand_augment_param or trivial_augment_param.
std::string DrawAutoAugment(Draw* draw);

// Draws mean_value, mean_file or nothing. The mean image has the shape channels x `size`. `floats`:
// the records are floats of about unit size, not bytes.
std::string DrawMean(Draw* draw, int64_t channels, const PixelSize& size, bool floats,
                     bool file_allowed, const std::string& folder);
// Draws a factor that makes samples about unit size.
std::string DrawScale(Draw* draw, bool floats);
// Draws std_value of one, all or no channels, about 1.
std::string DrawDeviations(Draw* draw, int64_t channels);
// Returns crop_size, or crop_h and crop_w.
std::string CropText(Draw* draw, const PixelSize& crop);
// Draws fields of forks that have no effect.
std::string DrawUnusedTransforms(Draw* draw, bool mirrored);

// Draws fields about the decoding of image files.
std::string DrawDecoding(Draw* draw);

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_TRANSFORM_FIELDS_H_
