// Boxes of objects in an image, and their conversion when a part of the image is cut out. Corners
// are fractions of the image: 0 is its left or upper edge, 1 its right or lower edge. The
// definitions are those of SSD (Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016, and
// its version of Caffe).
#ifndef DOPPIO_DATA_RECORD_BOXES_H_
#define DOPPIO_DATA_RECORD_BOXES_H_

#include <vector>

namespace doppio {

class EmitConstraint;

struct Box {
  float xmin = 0, ymin = 0, xmax = 1, ymax = 1;

  float width() const { return xmax - xmin; }
  float height() const { return ymax - ymin; }
  // Returns 0 if a side is negative.
  float area() const { return width() < 0 || height() < 0 ? 0 : width() * height(); }
};

// An object: the contents of one row of the label blob.
struct ObjectBox {
  Box box;
  float label = 0, instance = 0;
  bool difficult = false;
};

// Returns true if a part of the box that has an area lies inside the image; false for boxes that
// are inverted, without area, wholly outside or not finite.
bool IsUsable(const Box& box);
// Describes the other boxes in messages.
constexpr char kUnusableBoxes[] = "without area, inverted, outside of the image or not finite";
// Returns the box clipped to the image, i.e. to [0, 1] in both directions.
Box Clipped(const Box& box);
// Returns the intersection over union; 0 if the boxes only touch.
float OverlapOf(const Box& a, const Box& b);
// Returns the share of `part`'s area that lies inside `whole`; 0 if the boxes only touch.
float CoverageOf(const Box& part, const Box& whole);

// Writes `box` to `projected`, in fractions of `frame` and clipped to it. Returns false if nothing
// of the box lies inside `frame`.
bool Project(const Box& frame, const Box& box, Box* projected);

// Returns the objects inside `frame`, with boxes in fractions of `frame`. `constraint` selects the
// objects that count as inside; null: every object that overlaps `frame`.
std::vector<ObjectBox> ObjectsIn(const Box& frame, const std::vector<ObjectBox>& objects,
                                 const EmitConstraint* constraint);

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_BOXES_H_
