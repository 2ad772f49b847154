// The grid of boxes that YOLOv2 predicts, and the objects that its layers compare them with.
// Source: J. Redmon, A. Farhadi, "YOLO9000: Better, Faster, Stronger", 2017, section 2.
//   predictions: N x A(5 + C) x H x W. For each of the A anchors x, y, width, height, the score of
//   an object, and C scores of classes.
//   objects: N x 5K, for each image rows of class, x, y, width, height (the center, in fractions of
//   the image) up to the first row of width 0; or rows of 8 as in SSD (detection_bottoms.h), in
//   which classes are counted from 1.
#ifndef DOPPIO_LAYERS_DETECTION_REGION_GRID_H_
#define DOPPIO_LAYERS_DETECTION_REGION_GRID_H_

#include <cmath>
#include <string>
#include <vector>

#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/detection/detection_bottoms.h"

namespace doppio {

inline double RegionSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A box by its center and its size, in fractions of the image.
struct CenteredBox {
  double x = 0, y = 0, width = 0, height = 0;
  Box Corners() const { return {x - width / 2, y - height / 2, x + width / 2, y + height / 2}; }
};

struct RegionGrid {
  int64_t images = 0, rows = 0, columns = 0, classes = 0;
  std::vector<double> widths, heights;  // of the anchors, in cells
  int64_t object_numbers = 0;           // numbers of all objects in the bottom
  bool ssd_objects = false;             // the objects are rows of 8

  int64_t anchors() const { return static_cast<int64_t>(widths.size()); }
  int64_t cells() const { return rows * columns; }
  int64_t boxes() const { return anchors() * cells(); }  // of an image

  // Returns the index of the first number of a box; the others follow at distances of cells().
  // Boxes are ordered by row, column and anchor.
  int64_t At(int64_t image, int64_t box) const {
    const int64_t cell = box / anchors(), anchor = box % anchors();
    return (image * anchors() + anchor) * (5 + classes) * cells() + cell;
  }
  double ColumnOf(int64_t box) const { return static_cast<double>(box / anchors() % columns); }
  double RowOf(int64_t box) const {
    const int64_t row = box / anchors() / columns;
    return static_cast<double>(row);
  }
  double Width() const { return static_cast<double>(columns); }
  double Height() const { return static_cast<double>(rows); }

  // Returns the box that the numbers at `x` predict; x[0] is its first number.
  template <class T>
  CenteredBox Decode(const T* x, int64_t box) const {
    const auto number = [&](int64_t i) { return static_cast<double>(x[i * cells()]); };
    const int64_t anchor = box % anchors();
    return {(ColumnOf(box) + RegionSigmoid(number(0))) / Width(),
            (RowOf(box) + RegionSigmoid(number(1))) / Height(),
            std::exp(number(2)) * widths[anchor] / Width(),
            std::exp(number(3)) * heights[anchor] / Height()};
  }
  // Writes the softmax of the class scores of the box at `x` to `probabilities`.
  template <class T>
  void Classify(const T* x, std::vector<double>* probabilities) const {
    probabilities->resize(classes);
    const T* scores = x + 5 * cells();
    double most = static_cast<double>(scores[0]), sum = 0;
    for (int64_t c = 1; c < classes; ++c)
      most = std::max(most, static_cast<double>(scores[c * cells()]));
    for (int64_t c = 0; c < classes; ++c)
      sum += (*probabilities)[c] = std::exp(static_cast<double>(scores[c * cells()]) - most);
    for (double& p : *probabilities) p /= sum;
  }
};

// An object of an image; `label` is a class from 0.
struct RegionObject {
  CenteredBox box;
  int label = 0;
};

// Returns the grid of a layer whose first bottom is predictions, without the objects. `path` is the
// name of its message and a dot, `biases` the anchors' widths and heights in turn. Throws UserError
// if the shape does not fit.
template <class Biases>
RegionGrid ReadRegionPredictions(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                                 const std::string& path, int64_t classes,
                                 const std::string& count_field, int64_t anchors,
                                 const Biases& biases) {
  CheckImages(spec, bottoms[0]);
  spec.RefuseIf(classes < 1, path + "num_class", "num_class must be positive");
  spec.RefuseIf(anchors < 1, path + count_field, count_field, " must be positive");
  spec.RefuseIf(biases.size() != 2 * anchors, path + "biases", "biases is given ", biases.size(),
                " times; ", anchors, " anchors need ", 2 * anchors,
                ", width and height of each in cells");
  RegionGrid grid;
  for (int i = 0; i < biases.size(); ++i) {
    const double side = static_cast<double>(biases.Get(i));
    spec.RefuseIf(!(side > 0), {path + "biases", i}, "biases must be positive");
    (i % 2 == 0 ? grid.widths : grid.heights).push_back(side);
  }
  grid.classes = classes;
  grid.images = bottoms[0][0];
  grid.rows = bottoms[0][2];
  grid.columns = bottoms[0][3];
  spec.RefuseIf(bottoms[0][1] != anchors * (5 + classes), "bottom", "predictions '",
                spec.param.bottom(0), "' are ", bottoms[0].ToString(), "; ", anchors,
                " anchors with 5 numbers and ", classes, " classes need ", anchors * (5 + classes),
                " channels");
  return grid;
}

// Returns the grid of a layer whose bottoms are predictions and objects, as ReadRegionPredictions
// does. Throws UserError if the shapes do not fit.
template <class Biases>
RegionGrid ReadRegionGrid(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                          const std::string& path, int64_t classes, const std::string& count_field,
                          int64_t anchors, const Biases& biases) {
  RegionGrid grid =
      ReadRegionPredictions(spec, bottoms, path, classes, count_field, anchors, biases);
  const Shape& objects = bottoms[1];
  grid.object_numbers = objects.count();
  grid.ssd_objects = objects.rank() == 4 && objects[3] == 8;
  const bool fits =
      objects.rank() >= 2 && objects[0] == grid.images && objects.count() % (5 * grid.images) == 0;
  spec.RefuseIf(!grid.ssd_objects && !fits, {"bottom", 1}, "objects '", spec.param.bottom(1),
                "' are ", objects.ToString(),
                "; give rows of class, x, y, width, height for each of ", grid.images,
                " images, or rows of 8 as AnnotatedData");
  return grid;
}

// Reads the objects of each image. Throws UserError at `at` for a class that does not exist or a
// center outside of the image.
template <class T>
std::vector<std::vector<RegionObject>> ReadRegions(const SourceLoc& at, const RegionGrid& grid,
                                                   const T* from) {
  std::vector<std::vector<RegionObject>> objects(grid.images);
  if (grid.ssd_objects) {
    std::vector<std::vector<LabeledBox>> labeled(grid.images);
    ReadObjects(at, from, grid.object_numbers / 8, grid.classes + 1, 0, true, &labeled);
    for (int64_t image = 0; image < grid.images; ++image) {
      for (const LabeledBox& object : labeled[image]) {
        const Box& b = object.box;
        objects[image].push_back(
            {{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]}, object.label - 1});
      }
    }
  } else {
    const int64_t rows = grid.object_numbers / (5 * grid.images);
    for (int64_t image = 0; image < grid.images; ++image) {
      for (int64_t row = 0; row < rows; ++row) {
        const T* numbers = from + 5 * (image * rows + row);
        const auto number = [numbers](int i) { return static_cast<double>(numbers[i]); };
        if (number(3) == 0) break;
        objects[image].push_back(
            {{number(1), number(2), number(3), number(4)}, static_cast<int>(numbers[0])});
      }
    }
  }
  for (const std::vector<RegionObject>& of_image : objects) {
    for (const RegionObject& object : of_image) {
      const CenteredBox& b = object.box;
      if (object.label < 0 || object.label >= grid.classes) {
        throw UserError(at, "an object has class ", object.label, "; classes are 0..",
                        grid.classes - 1);
      }
      if (!(b.x >= 0 && b.x < 1 && b.y >= 0 && b.y < 1 && b.width > 0 && b.height > 0)) {
        throw UserError(at, "an object has the center (", b.x, ", ", b.y, ") and the size ",
                        b.width, " x ", b.height,
                        "; give fractions of the image, with a center inside of it");
      }
    }
  }
  return objects;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_REGION_GRID_H_
