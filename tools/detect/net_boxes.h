// Reads the boxes that nets of Faster R-CNN, R-FCN, SSD and YOLOv2 compute.
#ifndef DOPPIO_TOOLS_DETECT_NET_BOXES_H_
#define DOPPIO_TOOLS_DETECT_NET_BOXES_H_

#include <cstdint>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "tools/detect/fitted_image.h"
#include "tools/detect/found_object.h"

namespace doppio {

// Returns the objects of each image of a batch, in order of falling scores. `detections` has rows
// of 7: image of the batch, class, score, and xmin, ymin, xmax, ymax in fractions of the image
// (layers DetectionOutput and RegionOutput). Rows whose image is not in the batch are empty. Leaves
// out scores of `threshold` and below.
std::vector<std::vector<FoundObject>> ReadDetections(const PlainBlob& detections, double threshold,
                                                     const std::vector<FittedImage>& images);

// The outputs of Faster R-CNN for one image.
struct RegionBlobs {
  PlainBlob regions;  // R x 5: image, and the corners in pixels of the scaled image
  PlainBlob scores;   // R x C: probabilities of the classes; class 0 is the background
  // R x 4C: a code for each class. R x 4 or R x 8: one code, the last four numbers, for all
  // classes (R-FCN).
  PlainBlob codes;
};

// Returns the objects of an image, in order of falling scores. As in py-faster-rcnn, a box of a
// class suppresses those of lower scores in the same class that overlap it by more than `nms`, and
// both corners belong to a box. Leaves out scores of `threshold` and below. Throws UserError if the
// shapes do not fit together.
std::vector<FoundObject> ReadRegionBoxes(const RegionBlobs& blobs, double threshold, double nms,
                                         const FittedImage& image);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_NET_BOXES_H_
