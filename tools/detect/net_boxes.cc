#include "tools/detect/net_boxes.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace doppio {
namespace {

void SortByScore(std::vector<FoundObject>* objects) {
  std::stable_sort(objects->begin(), objects->end(),
                   [](const FoundObject& a, const FoundObject& b) { return a.score > b.score; });
}

// Returns the area of a box whose corners both belong to it.
double RegionArea(const PixelBox& box) {
  return std::max(0.0, box[2] - box[0] + 1) * std::max(0.0, box[3] - box[1] + 1);
}

// Returns the intersection over union of two boxes.
double RegionOverlap(const PixelBox& a, const PixelBox& b) {
  const PixelBox common = {std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]),
                           std::min(a[3], b[3])};
  const double shared = RegionArea(common);
  return shared / (RegionArea(a) + RegionArea(b) - shared);
}

// Returns the box that `code` encodes relative to `region`: offsets of the center in sizes of the
// region, and logarithms of the ratios of the sizes. As in py-faster-rcnn.
PixelBox DecodeFromRegion(const PixelBox& region, const float* code) {
  const double width = region[2] - region[0] + 1, height = region[3] - region[1] + 1;
  const double x = region[0] + width / 2 + static_cast<double>(code[0]) * width;
  const double y = region[1] + height / 2 + static_cast<double>(code[1]) * height;
  const double half_width = std::exp(static_cast<double>(code[2])) * width / 2;
  const double half_height = std::exp(static_cast<double>(code[3])) * height / 2;
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

// Clips a box to the pixels 0 .. side - 1 of the image.
PixelBox InsidePixels(const PixelBox& box, const FittedImage& image) {
  return InsideImage(box, image.height - 1, image.width - 1);
}

// The numbers of RegionBlobs.
struct RegionExtents {
  int64_t regions = 0, classes = 0, codes = 0;  // codes: numbers of each row

  // Returns the index of the code of a class in a row.
  int64_t CodeOf(int64_t label) const { return codes == 4 * classes ? 4 * label : codes - 4; }
};

RegionExtents ReadRegionExtents(const RegionBlobs& blobs) {
  RegionExtents e;
  e.regions = blobs.regions.shape.count() / 5;
  const int64_t rows = std::max<int64_t>(1, e.regions);
  e.classes = blobs.scores.shape.count() / rows;
  e.codes = blobs.codes.shape.count() / rows;
  const bool rows_fit = blobs.regions.shape.count() == 5 * e.regions &&
                        blobs.scores.shape.count() == e.regions * e.classes &&
                        blobs.codes.shape.count() == e.regions * e.codes;
  if (rows_fit && e.classes >= 2 && (e.codes == 4 * e.classes || e.codes == 4 || e.codes == 8))
    return e;
  throw UsageError("blob 'rois' is ", blobs.regions.shape.ToString(), ", 'cls_prob' is ",
                   blobs.scores.shape.ToString(), " and 'bbox_pred' is ",
                   blobs.codes.shape.ToString(),
                   "; R regions of 5 numbers need R x C probabilities of C classes with the "
                   "background, and R x 4C codes, or R x 8 for all classes together");
}

}  // namespace

std::vector<std::vector<FoundObject>> ReadDetections(const PlainBlob& detections, double threshold,
                                                     const std::vector<FittedImage>& images) {
  std::vector<std::vector<FoundObject>> found(images.size());
  const int64_t count = static_cast<int64_t>(images.size());
  for (int64_t row = 0; row < detections.shape.count() / 7; ++row) {
    const float* x = detections.data.data() + 7 * row;
    if (!(x[0] >= 0 && x[0] < static_cast<float>(count) && x[2] > threshold)) continue;
    const int64_t index = static_cast<int64_t>(x[0]);
    const FittedImage& image = images[index];
    const PixelBox box = {double{x[3]} * image.width, double{x[4]} * image.height,
                          double{x[5]} * image.width, double{x[6]} * image.height};
    found[index].push_back(
        {static_cast<int>(x[1]), double{x[2]}, InsideImage(box, image.height, image.width)});
  }
  for (std::vector<FoundObject>& objects : found) SortByScore(&objects);
  return found;
}

std::vector<FoundObject> ReadRegionBoxes(const RegionBlobs& blobs, double threshold, double nms,
                                         const FittedImage& image) {
  const RegionExtents e = ReadRegionExtents(blobs);
  std::vector<FoundObject> found;
  for (int64_t label = 1; label < e.classes; ++label) {
    std::vector<FoundObject> of_class;
    for (int64_t row = 0; row < e.regions; ++row) {
      const double score = double{blobs.scores.data[row * e.classes + label]};
      if (!(score > threshold)) continue;
      const float* corners = blobs.regions.data.data() + 5 * row + 1;
      PixelBox region;
      for (size_t i = 0; i < 4; ++i) region[i] = double{corners[i]} / image.scale;
      const float* code = blobs.codes.data.data() + row * e.codes + e.CodeOf(label);
      of_class.push_back(
          {static_cast<int>(label), score, InsidePixels(DecodeFromRegion(region, code), image)});
    }
    SortByScore(&of_class);
    const size_t begin = found.size();
    for (const FoundObject& one : of_class) {
      const bool suppressed = std::any_of(
          found.begin() + static_cast<std::ptrdiff_t>(begin), found.end(),
          [&](const FoundObject& better) { return RegionOverlap(better.box, one.box) > nms; });
      if (!suppressed) found.push_back(one);
    }
  }
  SortByScore(&found);
  return found;
}

}  // namespace doppio
