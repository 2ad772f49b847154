// The sources of a draft, and the numbers that its layers ask for.
#include <algorithm>
#include <sstream>

#include "tests/random/net_draft.h"

namespace doppio {
namespace {

// Begins the names of the Input layers that stand for sources.
constexpr char kStandIn[] = "(source) ";

// The length of a file's name that leaves room for endings. File systems allow 255 bytes.
constexpr size_t kLongestName = 200;

// Returns the value as "0.5".
std::string Short(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

// Returns the description of a dataset in the name of its file: "n3:uniform:-1:1:3x4". Regions are
// in the first `batch` samples.
std::string Described(const std::string& name, const Extra& extra, int64_t batch) {
  const std::string kind = extra.kind + (extra.kind == "regions" ? std::to_string(batch) : "");
  std::string text = name + ":" + kind + ":" + Short(extra.low) + ":" + Short(extra.high) + ":";
  for (size_t i = 0; i < extra.sample.size(); ++i)
    text += (i == 0 ? "" : "x") + std::to_string(extra.sample[i]);
  return text;
}

// Returns what a blob of such numbers may be read as.
BlobKind BlobKindOf(const Extra& extra) {
  if (extra.kind == "uniform") return BlobKind::kValues;
  return extra.kind == "whole" && extra.low == 0 ? BlobKind::kLabels : BlobKind::kOther;
}

bool Reads(const NetParameter& net, const std::string& blob) {
  return std::any_of(net.layer().begin(), net.layer().end(), [&](const LayerParameter& layer) {
    return std::count(layer.bottom().begin(), layer.bottom().end(), blob) > 0;
  });
}

}  // namespace

bool NetDraft::IsStandIn(const LayerParameter& layer) {
  return layer.name().rfind(kStandIn, 0) == 0;
}

void NetDraft::AddStandIn(const std::vector<DraftBlob>& tops) {
  for (Phase phase : {TRAIN, TEST}) {
    LayerParameter* layer = net_.add_layer();
    layer->set_name(kStandIn + tops[0].name);
    layer->set_type("Input");
    layer->add_include()->set_phase(phase);
    for (const DraftBlob& top : tops) {
      layer->add_top(top.name);
      BlobShape* shape = layer->mutable_input_param()->add_shape();
      shape->add_dim(phase == TRAIN ? batch_ : test_batch_);
      for (int axis = 1; axis < top.shape.rank(); ++axis) shape->add_dim(top.shape[axis]);
    }
  }
  for (const DraftBlob& top : tops) {
    kinds_[top.name] = top.kind;
    blobs_.push_back(top);
  }
}

void NetDraft::AddSource(const DraftSource& source) {
  AddStandIn(source.tops);
  sources_.push_back(source);
  DOPPIO_CHECK(Change([](NetParameter*) {}), "a net of sources alone has no graph");
}

DraftBlob NetDraft::Numbers(const Extra& extra) {
  DraftBlob blob;
  blob.name = "n" + std::to_string(datasets_.size() + 1);
  blob.kind = BlobKindOf(extra);
  blob.classes = blob.kind == BlobKind::kLabels ? static_cast<int64_t>(extra.high) + 1 : 0;
  blob.extra = !extra.shared;
  blob.shape.push_back(batch_);
  for (int64_t extent : extra.sample) blob.shape.push_back(extent);
  datasets_.push_back({blob.name, extra});
  AddStandIn({blob});
  return blob;
}

DraftBlob NetDraft::Labels(int64_t classes, const std::vector<int64_t>& sample) {
  Shape shape{batch_};
  for (int64_t extent : sample) shape.push_back(extent);
  std::vector<DraftBlob> fitting;
  for (const DraftBlob& blob : blobs_) {
    const bool alike = blob.shape == shape || (sample.empty() && blob.shape.count() == batch_);
    if (blob.kind == BlobKind::kLabels && blob.classes <= classes && blob.rows && alike &&
        blob.filter.empty())
      fitting.push_back(blob);
  }
  if (!fitting.empty() && draw_->Chance(0.9)) return draw_->Of(fitting);
  Extra extra;
  extra.kind = "whole";
  extra.low = 0;
  extra.high = static_cast<double>(classes - 1);
  extra.sample = sample;
  return Numbers(extra);
}

// Adds HDF5Data layers for the datasets that layers read, as many as the names of their files need.
void NetDraft::AddDatasets(NetParameter* net) {
  const bool one_layer = batch_ == test_batch_;
  std::vector<std::string> lists;
  std::vector<std::vector<std::string>> tops_of_list;
  const int64_t first = draw_->Chance(0.3) ? draw_->Int(1, records_ - 1) : records_;
  const std::string files =
      std::to_string(first) + (first < records_ ? "+" + std::to_string(records_ - first) : "");
  const std::string start = "numbers_" + files + "_" + std::to_string(draw_->Int(0, 9)) + "_";
  for (const Dataset& dataset : datasets_) {
    if (!Reads(net_, dataset.name)) continue;
    const std::string text = Described(dataset.name, dataset.extra, std::min(batch_, test_batch_));
    if (lists.empty() || lists.back().size() + 1 + text.size() > kLongestName) {
      lists.push_back(start + text);
      tops_of_list.emplace_back();
    } else {
      lists.back() += ";" + text;
    }
    tops_of_list.back().push_back(dataset.name);
  }
  const bool shuffle = draw_->Chance(0.2);
  for (size_t i = 0; i < lists.size(); ++i) {
    for (Phase phase : {TRAIN, TEST}) {
      if (one_layer && phase == TEST) continue;
      LayerParameter* layer = net->add_layer();
      layer->set_name(i == 0 ? "numbers" : "numbers" + std::to_string(i + 1));
      layer->set_type("HDF5Data");
      for (const std::string& top : tops_of_list[i]) layer->add_top(top);
      if (!one_layer) layer->add_include()->set_phase(phase);
      HDF5DataParameter* param = layer->mutable_hdf5_data_param();
      param->set_source("data/" + lists[i] + ".txt");
      param->set_batch_size(static_cast<uint32_t>(phase == TRAIN ? batch_ : test_batch_));
      if (shuffle) param->set_shuffle(true);
    }
  }
}

NetParameter NetDraft::Finish() {
  NetParameter net = net_;
  net.clear_layer();
  for (const DraftSource& source : sources_) {
    for (const LayerParameter& layer : source.layers) *net.add_layer() = layer;
  }
  AddDatasets(&net);
  for (const LayerParameter& layer : net_.layer()) {
    if (!IsStandIn(layer)) *net.add_layer() = layer;
  }
  return net;
}

}  // namespace doppio
