// The size of images that keep their proportions.
#ifndef DOPPIO_DATA_ANNOTATION_SCALED_SIDES_H_
#define DOPPIO_DATA_ANNOTATION_SCALED_SIDES_H_

namespace doppio {

struct ScaledSides {
  int height = 0, width = 0;  // at least 1
  double scale = 1;           // factor of both sides
};

// Returns the size of an image of height x width pixels whose sides are multiplied by `scale`.
// Rounds halves to even, as OpenCV does.
ScaledSides ScaleBy(int height, int width, double scale);

// Scales the short side to `short_side` pixels, or less if the long side would exceed `max_side`.
// As in py-faster-rcnn.
ScaledSides ScaleShortSide(int height, int width, int short_side, int max_side);

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_SCALED_SIDES_H_
