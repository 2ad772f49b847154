// Checks and reads the blobs that SSD's layers exchange:
//   priors: 1 x 2 x 4P. The P boxes, then their variances (PriorBox).
//   locations: N x 4P, or N x 4PC if classes do not share locations. One code per prior and class.
//   confidences: N x PC. One score per prior and class.
//   labels: rows of 8: image of the batch, label, instance, xmin, ymin, xmax, ymax, difficult.
//   detections: rows of 7: image of the batch, label, score, xmin, ymin, xmax, ymax.
// In labels and detections, a row whose image is -1 is empty.
#ifndef DOPPIO_LAYERS_DETECTION_DETECTION_BOTTOMS_H_
#define DOPPIO_LAYERS_DETECTION_DETECTION_BOTTOMS_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/shape.h"
#include "layers/detection/box_matching.h"

namespace doppio {

struct LayerSpec;

// The extents N, P and C above.
struct DetectionExtents {
  int64_t images = 0, priors = 0, classes = 0;
  int64_t location_classes = 1;  // 1 if classes share locations

  // Returns the index of the locations that class c uses.
  int64_t location_of(int64_t c) const { return location_classes == 1 ? 0 : c; }
};

// Returns the extents of a layer whose bottoms 0, 1 and 2 are locations, confidences and priors.
// `path` is the name of the layer's parameter message, for errors. `classes` is num_classes, or 0
// if the file does not give it. Throws UserError if the shapes do not fit together.
DetectionExtents ReadDetectionExtents(const LayerSpec& spec, const std::string& path,
                                      int64_t classes, bool share_location,
                                      const std::vector<Shape>& bottoms);

// Throws UserError unless the last axis of bottom `i` has the extent `width`. `what` names the
// bottom in the error.
void CheckRows(const LayerSpec& spec, const std::vector<Shape>& bottoms, int i, const char* what,
               int64_t width);

// Returns the code for `type`, a PriorBoxParameter::CodeType.
BoxCode ReadBoxCode(int type, bool variance_in_target);

// Returns the box whose four coordinates start at `from`.
template <class T>
Box ReadBox(const T* from) {
  Box box;
  for (size_t i = 0; i < 4; ++i) box[i] = static_cast<double>(from[i]);
  return box;
}

// The prior boxes and their variances.
struct Priors {
  std::vector<Box> boxes, variances;

  // Reads `count` priors and their variances from `from`, a blob of PriorBox. Throws UserError with
  // the location `at` if a variance is not positive.
  template <class T>
  void Read(const SourceLoc& at, const T* from, int64_t count) {
    boxes.resize(count);
    variances.resize(boxes.size());
    for (int64_t i = 0; i < count; ++i) {
      boxes[i] = ReadBox(from + 4 * i);
      const Box variance = variances[i] = ReadBox(from + 4 * (count + i));
      for (double v : variance) {
        if (!(v > 0)) {
          throw UserError(at, "prior ", i, " has the variance ", v,
                          "; codes are divided by it, so it must be positive");
        }
      }
    }
  }

  // Decodes one box per prior to `decoded`. The codes begin `stride` values apart.
  template <class T>
  void Decode(const BoxCode& code, const T* codes, int64_t stride,
              std::vector<Box>* decoded) const {
    decoded->resize(boxes.size());
    for (size_t i = 0; i < boxes.size(); ++i, codes += stride)
      (*decoded)[i] = code.Decode(boxes[i], variances[i], ReadBox(codes));
  }
};

// Returns the error for the value `found` in row `row` of the blob `rows`. `what` is what the value
// should name; `wanted` describes the valid values.
inline UserError WrongInRow(const SourceLoc& at, const std::string& rows, int64_t row,
                            const std::string& what, double found, const std::string& wanted) {
  return UserError(at, "row ", row, " of the ", rows, " names ", what, " ",
                   static_cast<int64_t>(found), "; ", wanted);
}

// Reads the image and the label of a row and truncates both to integers. Returns false for an empty
// row, whose image is -1. Throws UserError if the image is not in the batch, or if the label is not
// a class or is the background.
template <class T>
bool ReadImageAndLabel(const SourceLoc& at, const char* rows, const T* from, int64_t row,
                       int64_t images, int64_t classes, int64_t background, int64_t* image,
                       int* label) {
  const double first = static_cast<double>(from[0]), second = static_cast<double>(from[1]);
  if (first < 0 && first > -2) return false;
  if (!(first >= 0 && first < static_cast<double>(images))) {
    throw WrongInRow(
        at, rows, row, "image", first,
        "the batch has images 0.." + std::to_string(images - 1) + ", and -1 marks an empty row");
  }
  *image = static_cast<int64_t>(first);
  if (!(second >= 0 && second < static_cast<double>(classes)) ||
      static_cast<int64_t>(second) == background) {
    throw WrongInRow(
        at, rows, row, "label", second,
        StrCat("labels are 0..", classes - 1, " without the background, ", background));
  }
  *label = static_cast<int>(second);
  return true;
}

// Reads the objects of all images from `rows` rows of labels. The size of `objects` is the number
// of images. Leaves out difficult objects unless `difficult_ones` is true. Throws UserError like
// ReadImageAndLabel.
template <class T>
void ReadObjects(const SourceLoc& at, const T* from, int64_t rows, int64_t classes,
                 int64_t background, bool difficult_ones,
                 std::vector<std::vector<LabeledBox>>* objects) {
  for (auto& of_image : *objects) of_image.clear();
  for (int64_t row = 0; row < rows; ++row, from += 8) {
    int64_t image = 0;
    LabeledBox object;
    if (!ReadImageAndLabel(at, "labels", from, row, static_cast<int64_t>(objects->size()), classes,
                           background, &image, &object.label)) {
      continue;
    }
    object.box = ReadBox(from + 3);
    object.difficult = from[7] != T(0);
    if (object.difficult && !difficult_ones) continue;
    (*objects)[image].push_back(object);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_DETECTION_BOTTOMS_H_
