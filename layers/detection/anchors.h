// Anchors of Faster R-CNN's region proposal network, and the parts that its layers share. Boxes are
// in pixels of the scaled image, and both corners belong to the box, so its width is x2 - x1 + 1.
// Source: S. Ren et al., "Faster R-CNN: Towards Real-Time Object Detection with Region Proposal
// Networks", 2015. The results equal those of py-faster-rcnn.
#ifndef DOPPIO_LAYERS_DETECTION_ANCHORS_H_
#define DOPPIO_LAYERS_DETECTION_ANCHORS_H_

#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/net/contract/layer.h"
#include "layers/detection/boxes.h"

namespace doppio {

// The anchors at all positions of a map.
struct AnchorGrid {
  std::vector<Box> at_origin;  // the A anchors of position (0, 0)
  int64_t rows = 0, columns = 0;
  double stride = 16;  // pixels between two positions

  int64_t per_position() const { return static_cast<int64_t>(at_origin.size()); }
  int64_t positions() const { return rows * columns; }
  int64_t count() const { return positions() * per_position(); }
  // Returns anchor `i`. Anchors are ordered by row, then by column, then as in at_origin.
  Box At(int64_t i) const;
};

// Returns the anchors of the position at the origin: each ratio (height / width) with each scale.
// They are centred on a square of `base_size` pixels whose corner is the origin.
std::vector<Box> MakeAnchors(double base_size, const std::vector<double>& ratios,
                             const std::vector<double>& scales);

// Returns the box with exclusive maximum corners, for Overlap, Area and BoxCode.
inline Box Exclusive(const Box& box) { return {box[0], box[1], box[2] + 1, box[3] + 1}; }

// Returns the code of `object` relative to `anchor`: offsets of the center in sizes of the anchor,
// and logarithms of the ratios of the sizes. Both boxes must have positive sizes.
Box EncodeRegion(const Box& anchor, const Box& object);
// Returns the box that `code` encodes. As in py-faster-rcnn, the box of a code of zeros exceeds the
// anchor by a pixel on the right and at the bottom.
Box DecodeRegion(const Box& anchor, const Box& code);

// The object of the largest overlap with a box; -1 if `objects` is empty.
struct NearestObject {
  int object = -1;
  double overlap = 0;
};
NearestObject FindNearest(const Box& box, const std::vector<Box>& objects);

// Moves `count` random elements of `items` to its front and drops the others. Keeps all if there
// are not more. Reads the random numbers of `sample` from the element `first`.
void KeepRandom(int64_t count, const Random& random, uint64_t sample, uint64_t first,
                std::vector<int>* items);

// Returns the values of `key` in the text that a layer of py-faster-rcnn gets as param_str
// (python_param), such as "'feat_stride': 16" or "'scales': [8, 16, 32]". Returns an empty vector
// if the text lacks the key. Throws UserError if the text has a key that is not in `known`, or if a
// value is not a positive number.
std::vector<double> ReadParamStr(const LayerSpec& spec, const std::string& key,
                                 const std::vector<std::string>& known);

// Returns the anchors of a layer whose message `Param` has feat_stride, base_size, ratio and scale.
// `path` is the message's name and a dot. param_str overrides the fields. Throws UserError for
// values that are not positive.
template <class Param>
AnchorGrid ReadAnchors(const LayerSpec& spec, const std::string& path, const Param& param,
                       int64_t rows, int64_t columns);

// Throws UserError unless bottom `i` has rows of `width` numbers. `what` describes a row.
void CheckNumbers(const LayerSpec& spec, const std::vector<Shape>& bottoms, int i, int64_t width,
                  const std::string& what);

// Returns the number that `spec` reads from `field` if it is in (0, 1], else throws UserError.
double ReadFraction(const LayerSpec& spec, const std::string& path, const std::string& field,
                    double value);

// Reads by which means and deviations the codes of regions are normalized: bbox_mean and bbox_std
// of proposal_target_param. Throws UserError.
void ReadTargetScale(const LayerSpec& spec, Box* mean, Box* deviation);

// Reads the objects from `rows` rows of x1, y1, x2, y2, class. A row whose class is 0 or less is
// empty. Throws UserError at `at` for a box whose corners are in the wrong order.
template <class T>
void ReadRegionObjects(const SourceLoc& at, const T* from, int64_t rows, std::vector<Box>* boxes,
                       std::vector<int>* labels) {
  boxes->clear();
  labels->clear();
  for (int64_t row = 0; row < rows; ++row, from += 5) {
    if (!(from[4] > T(0))) continue;
    Box box;
    for (size_t i = 0; i < 4; ++i) box[i] = static_cast<double>(from[i]);
    if (!(box[2] >= box[0] && box[3] >= box[1])) {
      throw UserError(at, "row ", row,
                      " of the objects has corners in the wrong order; give x1, y1, x2, y2, class "
                      "with x1 <= x2 and y1 <= y2");
    }
    boxes->push_back(box);
    labels->push_back(static_cast<int>(from[4]));
  }
}

// The implementation of ReadAnchors. `given` and `defaults` are lists of positive numbers.
std::vector<double> ReadAnchorNumbers(const LayerSpec& spec, const std::string& path,
                                      const std::string& field, const std::string& key,
                                      std::vector<double> given,
                                      const std::vector<double>& defaults);

template <class Param>
AnchorGrid ReadAnchors(const LayerSpec& spec, const std::string& path, const Param& param,
                       int64_t rows, int64_t columns) {
  const auto list = [&](const auto& values, const char* field, const char* key,
                        const std::vector<double>& defaults) {
    return ReadAnchorNumbers(spec, path, field, key, {values.begin(), values.end()}, defaults);
  };
  const auto one = [&](double value, const char* field) {
    return ReadAnchorNumbers(spec, path, field, field, {value}, {}).front();
  };
  AnchorGrid grid;
  grid.rows = rows;
  grid.columns = columns;
  grid.stride = one(param.feat_stride(), "feat_stride");
  grid.at_origin = MakeAnchors(one(param.base_size(), "base_size"),
                               list(param.ratio(), "ratio", "ratios", {0.5, 1, 2}),
                               list(param.scale(), "scale", "scales", {8, 16, 32}));
  return grid;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ANCHORS_H_
