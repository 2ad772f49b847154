// The boxes of objects in an image, and what becomes of them when a part of the image is taken.
// Corners are fractions of the image: 0 is its left or upper edge, 1 its right or lower one.
// Definitions are those of SSD (Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016, and
// its Caffe).
#ifndef DOPPIO_DATA_AUGMENT_BOXES_H_
#define DOPPIO_DATA_AUGMENT_BOXES_H_

#include <vector>

namespace doppio {

class EmitConstraint;

struct Box {
  float xmin = 0, ymin = 0, xmax = 1, ymax = 1;

  float width() const { return xmax - xmin; }
  float height() const { return ymax - ymin; }
  // 0 where a side is negative.
  float area() const { return width() < 0 || height() < 0 ? 0 : width() * height(); }
};

// An object: what a row of the label blob says.
struct ObjectBox {
  Box box;
  float label = 0, instance = 0;
  bool difficult = false;
};

Box Clipped(const Box& box);  // to the image
// Of the area that both have, and of 0 where they only touch.
float OverlapOf(const Box& a, const Box& b);          // over that of their union
float CoverageOf(const Box& part, const Box& whole);  // over that of `part`

// The box in fractions of `frame`, clipped to it. False: nothing of it is left.
bool Project(const Box& frame, const Box& box, Box* projected);

// What of `objects` is in `frame`, in its fractions. `constraint`, where given, says which ones
// count as being in it.
std::vector<ObjectBox> ObjectsIn(const Box& frame, const std::vector<ObjectBox>& objects,
                                 const EmitConstraint* constraint);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_BOXES_H_
