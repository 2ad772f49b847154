#include "tools/detect/detect_net.h"

#include "core/net/graph/find_blob.h"
#include "tools/detect/detect_inputs.h"
#include "tools/detect/net_boxes.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

const char* const kRegionBlobs[] = {"rois", "cls_prob", "bbox_pred"};

bool HoldsDetections(const Shape& shape) {
  return shape.rank() == 4 && shape[0] == 1 && shape[1] == 1 && shape[3] == 7;
}

}  // namespace

DetectNet::DetectNet(NetSource source, const NetOptions& options, const PlanOptions& plan,
                     int64_t batch, std::string detections)
    : source_(std::move(source)),
      options_(options),
      plan_(plan),
      params_(plan.device, DType::kFloat32, 1),
      batch_(batch),
      given_(std::move(detections)) {
  plan_.keep_all = true;
  LogWarnings(source_.warnings);
  Build();
  if (has_info()) batch_ = 1;
}

void DetectNet::Build() {
  NetSpec spec = MakeNetSpec(source_.net, source_.places, source_.state, options_);
  const DetectInputs inputs = SetDetectInputs(batch_, input_, &spec);
  input_ = inputs.image;
  data_ = inputs.data;
  info_ = inputs.info;
  net_.reset();  // before the memory of the next plan is allocated
  net_ = std::make_unique<Net>(MakeGraph(std::move(spec)), plan_, &params_);
  FindOutput();
}

// Finds the blobs that hold the objects. Throws UsageError if there are none.
void DetectNet::FindOutput() {
  const Graph& graph = net_->graph();
  std::vector<std::string> names, found;
  for (const int edge : graph.outputs) {
    names.push_back(graph.edges[edge].name);
    if (HoldsDetections(graph.edges[edge].shape)) found.push_back(names.back());
  }
  if (!given_.empty()) {
    const Shape& shape = FindBlob(graph, given_).shape;
    if (!HoldsDetections(shape)) {
      throw UsageError("blob '", given_, "' is ", shape.ToString(), "; detections are 1x1xNx7");
    }
    found = {given_};
  }
  if (found.size() > 1) {
    throw UsageError("the net has ", found.size(), " outputs of detections (", Join(found, ", "),
                     "); name one with --blob");
  }
  detections_ = found.empty() ? "" : found[0];
  if (!found.empty()) return;
  if (!has_info()) {
    throw UsageError(
        "the net has no output of detections, 1x1xNx7 (layers DetectionOutput, RegionOutput and "
        "RoiDetections), and no input im_info as Faster R-CNN has; its outputs are ",
        Join(names, ", "));
  }
  for (const char* blob : kRegionBlobs) {
    if (graph.FindEdge(blob) >= 0) continue;
    throw UsageError(
        "the net has the input im_info, but neither an output of detections, 1x1xNx7, nor a blob '",
        blob, "'; of a net with regions, detect reads the blobs rois, cls_prob and bbox_pred");
  }
}

std::optional<Preprocessing> DetectNet::LoadWeights(const std::string& files) {
  return LoadWeightFiles(files, net_.get());
}

std::vector<std::vector<FoundObject>> DetectNet::Find(const std::vector<FittedImage>& images,
                                                      const DetectionOptions& limits) {
  if (images.at(0).input != input_) {
    input_ = images[0].input;
    Build();
  }
  WriteInputs(images);
  net_->Forward();
  if (!detections_.empty()) return ReadDetections(Read(detections_), limits.threshold, images);
  const RegionBlobs blobs = {Read(kRegionBlobs[0]), Read(kRegionBlobs[1]), Read(kRegionBlobs[2])};
  return {ReadRegionBoxes(blobs, limits.threshold, limits.nms, images[0])};
}

void DetectNet::WriteInputs(const std::vector<FittedImage>& images) {
  std::vector<float> values;
  for (const FittedImage& image : images)
    values.insert(values.end(), image.values.begin(), image.values.end());
  // The remaining rows of the batch are zeros, whose objects are ignored.
  values.resize(batch_ * input_.count());
  WriteTensor(values, net_->Blob(data_), plan_.device);
  if (!has_info()) return;
  WriteTensor({static_cast<float>(images[0].rows), static_cast<float>(images[0].columns),
               static_cast<float>(images[0].scale)},
              net_->Blob(info_), plan_.device);
}

PlainBlob DetectNet::Read(const std::string& blob) const {
  return ReadTensor(net_->Blob(blob), plan_.device);
}

}  // namespace doppio
