#include "core/net/spec/split_layer.h"

#include <algorithm>
#include <map>

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

constexpr int kStatisticsBlobs = 3;  // blobs of a BatchNorm

// Returns the field that requests a Scale after a BatchNorm, or null. In NVCaffe, a filler is such
// a request.
const char* ScaleField(const LayerParameter& layer) {
  if (layer.type() != "BatchNorm") return nullptr;
  const BatchNormParameter& p = layer.batch_norm_param();
  if (p.scale_bias()) return "scale_bias";
  if (p.has_use_weight_bias() && p.use_weight_bias()) return "use_weight_bias";
  if (p.has_scale_filler()) return "scale_filler";
  // With Intel Caffe's `filler`, bias_filler is Intel Caffe's, too, and does not request a Scale.
  return p.has_bias_filler() && !p.has_filler() ? "bias_filler" : nullptr;
}

// Returns the field of LayerParameter whose `relu` adds a ReLU. Empty if the layer has none.
std::string ReluParam(const LayerParameter& layer) {
  const LayerType* type = LayerTypes::Get().Find(layer.type());
  return type == nullptr ? "" : type->relu_field;
}

bool IsConvolution(const LayerParameter& layer) { return ReluParam(layer) == "convolution_param"; }

bool IsInnerProduct(const LayerParameter& layer) {
  return ReluParam(layer) == "inner_product_param";
}

bool HasSum(const LayerParameter& layer) {
  return IsConvolution(layer) &&
         layer.convolution_param().fusion_type() != ConvolutionParameter::NONE_FUSION;
}

// Returns true for Intel Caffe's filler without the Scale that it would fill.
bool HasIdleFiller(const LayerParameter& layer) {
  return layer.type() == "BatchNorm" && ScaleField(layer) == nullptr &&
         layer.batch_norm_param().has_filler();
}

// Returns the fields that split `layer`, each with a description of the added layer.
std::vector<std::pair<std::string, const char*>> SplitFields(const LayerParameter& layer) {
  std::vector<std::pair<std::string, const char*>> fields;
  const char* scale = ScaleField(layer);
  if (scale != nullptr) {
    fields.emplace_back(std::string("batch_norm_param.") + scale, "a Scale named NAME_scale");
  }
  if (HasSum(layer))
    fields.emplace_back("convolution_param.fusion_type", "an Eltwise named NAME_sum");
  if (HasFusedRelu(layer)) {
    fields.emplace_back(ReluParam(layer) + ".relu", "a ReLU named NAME_relu");
  }
  return fields;
}

class Splitter {
 public:
  explicit Splitter(LayerSpec layer) {
    layers_.reserve(3);  // keeps references valid
    layers_.push_back(std::move(layer));
  }

  std::vector<LayerSpec> Split() {
    CheckContradictions();
    const char* scale = ScaleField(first().param);
    const bool sum = HasSum(first().param), relu = HasFusedRelu(first().param);
    if (scale == nullptr && !sum && !relu) return std::move(layers_);
    // At least one of the fields is set.
    first().RefuseIf(first().param.top_size() != 1, SplitFields(first().param)[0].first,
                     "it is for a layer with one top, found ", first().param.top_size());
    const LayerParameter whole = first().param;
    if (scale != nullptr) AddScale(scale);
    if (sum) AddSum();
    if (relu) AddRelu(whole);
    // The file's loss weight belongs to the last version of the top.
    layers_.back().param.mutable_loss_weight()->CopyFrom(whole.loss_weight());
    if (layers_.size() > 1) first().param.clear_loss_weight();
    return std::move(layers_);
  }

 private:
  LayerSpec& first() { return layers_.front(); }

  void CheckContradictions() {
    const LayerParameter& layer = first().param;
    const BatchNormParameter& p = layer.batch_norm_param();
    const char* scale = ScaleField(layer);
    if (scale != nullptr) {
      first().RefuseIf(p.has_scale_bias() && !p.scale_bias(), "batch_norm_param.scale_bias",
                       "scale_bias: false contradicts ", scale, "; remove one of them");
      first().RefuseIf(p.has_use_weight_bias() && !p.use_weight_bias(),
                       "batch_norm_param.use_weight_bias", "use_weight_bias: false contradicts ",
                       scale, "; remove one of them");
    }
    first().RefuseIf(
        p.has_scale_filler() && p.has_filler(), "batch_norm_param.filler",
        "filler (Intel Caffe) and scale_filler (NVCaffe) fill the same factors; keep one of them");
    const bool slope = (IsConvolution(layer) && layer.convolution_param().has_negative_slope()) ||
                       (IsInnerProduct(layer) && layer.inner_product_param().has_negative_slope());
    first().RefuseIf(
        slope && !HasFusedRelu(layer), ReluParam(layer) + ".negative_slope",
        "negative_slope is that of relu: true, which is not set; set it, or remove negative_slope");
  }

  // Adds a layer that works in place on the current top. Errors about it have the place of `field`.
  LayerParameter* Add(const char* type, const char* suffix, const std::string& field) {
    const LayerParameter& whole = first().param;
    LayerSpec added;
    added.places = FieldPlaces(first().At(field));
    added.options = first().options;
    LayerParameter& param = added.param;
    param.set_name(whole.name() + suffix);
    param.set_type(type);
    *param.add_bottom() = whole.top(0);
    *param.add_top() = whole.top(0);
    if (whole.has_phase()) param.set_phase(whole.phase());
    *param.mutable_include() = whole.include();
    *param.mutable_exclude() = whole.exclude();
    if (whole.has_forward_type()) param.set_forward_type(whole.forward_type());
    if (whole.has_backward_type()) param.set_backward_type(whole.backward_type());
    layers_.push_back(std::move(added));
    return &layers_.back().param;
  }

  void AddScale(const char* field) {
    LayerParameter* scale = Add("Scale", "_scale", std::string("batch_norm_param.") + field);
    LayerParameter& norm = first().param;
    BatchNormParameter* p = norm.mutable_batch_norm_param();
    ScaleParameter* to = scale->mutable_scale_param();
    to->set_bias_term(p->bias_term());
    if (p->has_filler()) *to->mutable_filler() = p->filler();
    if (p->has_scale_filler()) *to->mutable_filler() = p->scale_filler();
    if (p->has_bias_filler() && p->bias_term()) *to->mutable_bias_filler() = p->bias_filler();
    // If only a filler requests the Scale, files of NVCaffe 0.15 list its param entries first.
    const bool scale_first = !p->scale_bias() && !p->has_use_weight_bias() &&
                             norm.param_size() > 0 && norm.param(0).lr_mult() != 0;
    p->clear_scale_bias();
    p->clear_use_weight_bias();
    p->clear_bias_term();
    p->clear_filler();
    p->clear_scale_filler();
    p->clear_bias_filler();

    const int blobs = to->bias_term() ? 2 : 1;
    const auto all = norm.param();
    const int given = all.size();
    first().RefuseIf(given > kStatisticsBlobs + blobs, {"param", kStatisticsBlobs + blobs},
                     "there are ", given, " param entries for ", kStatisticsBlobs + blobs,
                     " blobs");
    norm.clear_param();
    for (int i = 0; i < given; ++i) {
      const bool learned = scale_first ? i < blobs : i >= kStatisticsBlobs;
      *(learned ? scale : &norm)->add_param() = all[i];
    }
    while (norm.blobs_size() > kStatisticsBlobs) {
      *scale->add_blobs() = norm.blobs(kStatisticsBlobs);
      norm.mutable_blobs()->DeleteSubrange(kStatisticsBlobs, 1);
    }
  }

  void AddSum() {
    LayerParameter& conv = first().param;
    first().RefuseIf(conv.convolution_param().coeff_size() > 0, "convolution_param.coeff",
                     "coeff of a sum fused by Intel Caffe is not supported; write the Eltwise as "
                     "its own layer, with eltwise_param { coeff }");
    first().RefuseIf(conv.bottom_size() != 2, "convolution_param.fusion_type",
                     "SUM_FUSION adds bottom 1 to the result for bottom 0, but there are ",
                     conv.bottom_size(), " bottoms; give two");
    LayerParameter* sum = Add("Eltwise", "_sum", "convolution_param.fusion_type");
    sum->mutable_eltwise_param()->set_operation(EltwiseParameter::SUM);
    const std::string alone = conv.name() + "_unsummed";
    conv.set_top(0, alone);
    sum->set_bottom(0, alone);
    *sum->add_bottom() = conv.bottom(1);
    conv.mutable_bottom()->DeleteSubrange(1, 1);
    if (conv.propagate_down_size() == 2) {
      sum->add_propagate_down(true);
      sum->add_propagate_down(conv.propagate_down(1));
      conv.mutable_propagate_down()->Truncate(1);
    }
    conv.mutable_convolution_param()->clear_fusion_type();
  }

  void AddRelu(const LayerParameter& whole) {
    LayerParameter* relu = Add("ReLU", "_relu", ReluParam(whole) + ".relu");
    relu->set_bottom(0, whole.top(0));
    relu->set_top(0, whole.top(0));
    LayerParameter& head = first().param;
    if (whole.has_relu_param()) *relu->mutable_relu_param() = whole.relu_param();
    head.clear_relu_param();
    if (IsConvolution(whole)) {
      SetSlope(head.mutable_convolution_param(), relu);
    } else if (IsInnerProduct(whole)) {
      SetSlope(head.mutable_inner_product_param(), relu);
    } else {
      head.mutable_batch_norm_param()->clear_relu();
    }
  }

  template <class Param>
  void SetSlope(Param* param, LayerParameter* relu) {
    const float slope = param->negative_slope();
    first().RefuseIf(param->has_negative_slope() && relu->relu_param().has_negative_slope() &&
                         relu->relu_param().negative_slope() != slope,
                     "relu_param.negative_slope",
                     "negative_slope is given twice, with two values; keep one of them");
    if (param->has_negative_slope()) relu->mutable_relu_param()->set_negative_slope(slope);
    param->clear_relu();
    param->clear_negative_slope();
  }

  std::vector<LayerSpec> layers_;
};

std::string Layers(int count) {
  return std::to_string(count) + (count == 1 ? " layer" : " layers");
}

}  // namespace

bool HasFusedRelu(const LayerParameter& layer) {
  if (IsConvolution(layer)) return layer.convolution_param().relu();
  if (IsInnerProduct(layer)) return layer.inner_product_param().relu();
  return layer.type() == "BatchNorm" && layer.batch_norm_param().relu();
}

std::vector<LayerSpec> SplitLayer(LayerSpec layer) { return Splitter(std::move(layer)).Split(); }

std::vector<Warning> SplitWarnings(const NetParameter& net, const FieldPlaces& places) {
  struct Found {
    SourceLoc at;
    const char* read_as = nullptr;
    int layers = 0;
  };
  std::map<std::string, Found> found;
  Found idle;
  for (int i = 0; i < net.layer_size(); ++i) {
    if (HasIdleFiller(net.layer(i)) && idle.layers++ == 0) {
      idle.at = places.Nested(net, "layer", i).At("batch_norm_param.filler");
    }
    for (const auto& [field, read_as] : SplitFields(net.layer(i))) {
      Found& one = found[field];
      if (one.layers++ > 0) continue;
      one.at = places.Nested(net, "layer", i).At(field);
      one.read_as = read_as;
    }
  }
  std::vector<Warning> warnings;
  for (const auto& [field, one] : found) {
    warnings.push_back({one.at, field.substr(field.find('.') + 1) + " of " + Layers(one.layers) +
                                    " is read as " + one.read_as +
                                    "; 'doppio upgrade' writes it out"});
  }
  std::sort(warnings.begin(), warnings.end(), [](const Warning& a, const Warning& b) {
    return std::make_pair(a.at.line, a.at.column) < std::make_pair(b.at.line, b.at.column);
  });
  if (idle.layers > 0) {
    warnings.push_back({idle.at, "filler of " + Layers(idle.layers) +
                                     " has no effect: without use_weight_bias: true, a BatchNorm "
                                     "has no factors to fill"});
  }
  return warnings;
}

}  // namespace doppio
