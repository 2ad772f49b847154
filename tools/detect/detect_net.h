// A deploy net that finds objects in images. It has an input of images, and perhaps the input
// im_info: height, width and scale of the one resized image. The objects are in one of two forms:
//   Detections: an output of rows image, class, score, xmin, ymin, xmax, ymax (layers
//     DetectionOutput, RegionOutput and RoiDetections).
//   Regions, with im_info: the blobs rois, cls_prob and bbox_pred, as py-faster-rcnn names them.
#ifndef DOPPIO_TOOLS_DETECT_DETECT_NET_H_
#define DOPPIO_TOOLS_DETECT_DETECT_NET_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "tools/cli/options.h"
#include "tools/detect/fitted_image.h"
#include "tools/detect/found_object.h"

namespace doppio {

class DetectNet {
 public:
  // Builds the net of `source`, for `batch` images at once if it has no im_info. The device of
  // `plan` must outlive it. `detections` names the output of detections; "": the net's only one.
  // Throws UsageError or UserError for a net of neither form.
  DetectNet(NetSource source, const NetOptions& options, const PlanOptions& plan, int64_t batch,
            std::string detections);

  // Returns true if the net has the input im_info.
  bool has_info() const { return !info_.empty(); }
  // Returns the shape of an image of the input: that in the file, or the last one that Find set.
  const ImageShape& input() const { return input_; }
  // Returns the number of images that Find takes at most.
  int64_t batch() const { return batch_; }
  const Graph& graph() const { return net_->graph(); }
  // Loads weights as LoadWeightFiles does.
  std::optional<Preprocessing> LoadWeights(const std::string& files);

  // Runs the net on at most batch() images of the same input shape and returns the objects of each,
  // without those whose score is at most `limits.threshold`. A net with im_info is planned again if
  // the shape differs from that of the last image.
  std::vector<std::vector<FoundObject>> Find(const std::vector<FittedImage>& images,
                                             const DetectionOptions& limits);

 private:
  void Build();
  void FindOutput();
  void WriteInputs(const std::vector<FittedImage>& images);
  PlainBlob Read(const std::string& blob) const;

  const NetSource source_;
  const NetOptions options_;
  PlanOptions plan_;
  ParamStore params_;
  int64_t batch_;
  ImageShape input_;
  std::string data_, info_;  // names of the inputs; info_ is "" without im_info
  const std::string given_;  // name of the output of detections that the caller gave, or ""
  std::string detections_;   // name of the output; "" for a net of regions
  std::unique_ptr<Net> net_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_DETECT_NET_H_
