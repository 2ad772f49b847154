// The content of images in data files: noise, labels and objects, drawn by the seed of the name.
#ifndef DOPPIO_TESTS_RANDOM_TINY_IMAGES_H_
#define DOPPIO_TESTS_RANDOM_TINY_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/decode/decode.h"
#include "data/record/boxes.h"
#include "tests/random/data_kind.h"

namespace doppio {

// The names of the classes of PASCAL VOC, which the class names of objects are.
constexpr const char* kTinyClasses[] = {
    "background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
    "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
    "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};
constexpr int64_t kMostTinyClasses = sizeof kTinyClasses / sizeof kTinyClasses[0];
// Most objects of an image.
constexpr int kMostTinyObjects = 3;

// Returns the pixels of image `index`.
std::vector<uint8_t> TinyBytes(const DataName& name, int64_t index, int64_t count);
Image TinyImage(const DataName& name, int64_t index, const ImageShape& shape);
// Returns an image of labels below `name.classes`.
Image TinyLabelImage(const DataName& name, int64_t index, const ImageShape& shape);
// Returns the name's shape with up to 3 more rows and columns.
ImageShape VariedShape(const DataName& name, int64_t index);

// Returns label `which` of record `index`.
int TinyLabel(const DataName& name, int64_t index, int which = 0);
// Returns the objects of image `index`, at least one, of which the first is not difficult. Corners
// are at whole pixels of an image of the name's shape.
std::vector<ObjectBox> TinyObjects(const DataName& name, int64_t index);
// The outermost pixels of an object, counted from 0.
struct PixelBox {
  int64_t left, top, right, bottom;
};
PixelBox PixelsOf(const ObjectBox& object, const ImageShape& shape);

// Throws FileError.
void WriteBytes(const std::string& path, const std::string& bytes);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_TINY_IMAGES_H_
