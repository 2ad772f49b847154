#include "tools/pages/net_drawing.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "core/net/contract/layer.h"
#include "tools/cli/word_list.h"
#include "tools/timing/layer_detail.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "\"";
}

// Returns several lines as one quoted DOT label, joined by DOT's escape "\n".
std::string Label(const std::vector<std::string>& lines) {
  std::string label = "\"";
  for (const std::string& line : lines) {
    const std::string quoted = Quoted(line);
    label += (label.size() > 1 ? "\\n" : "") + quoted.substr(1, quoted.size() - 2);
  }
  return label + "\"";
}

// Returns num_output of the first parameter message in which it is set, or 0 if there is none.
uint32_t Outputs(const LayerParameter& layer) {
  std::vector<const FieldDescriptor*> fields;
  layer.GetReflection()->ListFields(layer, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->message_type() == nullptr) continue;
    const FieldDescriptor* outputs = field->message_type()->FindFieldByName("num_output");
    if (outputs == nullptr || outputs->cpp_type() != FieldDescriptor::CPPTYPE_UINT32) continue;
    const Message& parameters = layer.GetReflection()->GetMessage(layer, field);
    if (!parameters.GetReflection()->HasField(parameters, outputs)) continue;
    return parameters.GetReflection()->GetUInt32(parameters, outputs);
  }
  return 0;
}

// Returns the phases that the layer's include rules name, separated by commas.
std::string Phases(const LayerParameter& layer) {
  std::vector<std::string> phases;
  for (const NetStateRule& rule : layer.include()) {
    if (rule.has_phase()) phases.push_back(Phase_Name(rule.phase()));
  }
  return Join(phases, ", ");
}

const char* Color(const std::string& kind) {
  static const auto* colors = new std::map<std::string, const char*>{
      {"data", "#d9d9d9"}, {"loss", "#fbb4ae"},    {"learned", "#b3cde3"}, {"pooling", "#fed9a6"},
      {"norm", "#decbe4"}, {"element", "#ccebc5"}, {"other", "#ffffff"}};
  return colors->at(kind);
}

// Returns DOT attributes that give each device its own border, or "" if layers have no devices.
// Devices are numbered in the order of the layers.
std::string Border(const std::vector<LayerParameter>& layers, int layer) {
  static constexpr std::array kColors = {"#1f78b4", "#e31a1c", "#33a02c",
                                         "#ff7f00", "#6a3d9a", "#b15928"};
  const std::string& device = layers[layer].device();
  if (device.empty()) return "";
  std::vector<std::string> devices;
  for (const LayerParameter& each : layers) {
    if (!each.device().empty() && !Contains(devices, each.device()))
      devices.push_back(each.device());
  }
  const auto number = std::find(devices.begin(), devices.end(), device) - devices.begin();
  return " penwidth=2 color=\"" + std::string(kColors[number % kColors.size()]) + "\"";
}

class Builder {
 public:
  explicit Builder(const std::string& name) { drawing_.name = name; }

  void AddInput(const std::string& blob) { blobs_[blob].makers = {AddNode({{blob}, -1})}; }

  void AddLayer(const LayerParameter& layer, int index) {
    std::vector<std::string> lines = {layer.name(), layer.type() + LayerDetail(layer)};
    if (Outputs(layer) > 0) lines.push_back(std::to_string(Outputs(layer)) + " outputs");
    if (!Phases(layer).empty()) lines.push_back("(" + Phases(layer) + ")");
    if (!layer.device().empty()) lines.push_back("on " + layer.device());
    const int node = AddNode({lines, index});
    for (const std::string& bottom : layer.bottom()) {
      if (blobs_.count(bottom) == 0) AddInput(bottom);
      Blob& blob = blobs_[bottom];
      blob.read = true;
      for (const int maker : blob.makers) drawing_.edges.push_back({maker, node, bottom});
    }
    for (const std::string& top : layer.top()) {
      Blob& blob = blobs_[top];
      if (blob.read) blob = Blob();
      blob.makers.push_back(node);
    }
  }

  NetDrawing Finish() {
    for (const auto& [name, blob] : blobs_) {
      if (blob.read) continue;
      const int end = AddNode({{name}, -1});
      for (const int maker : blob.makers) drawing_.edges.push_back({maker, end, ""});
    }
    return std::move(drawing_);
  }

 private:
  // The current version of a blob.
  struct Blob {
    std::vector<int> makers;  // indices of nodes
    bool read = false;
  };

  int AddNode(NetDrawing::Node node) {
    drawing_.nodes.push_back(std::move(node));
    return static_cast<int>(drawing_.nodes.size()) - 1;
  }

  NetDrawing drawing_;
  std::map<std::string, Blob> blobs_;
};

}  // namespace

std::string LayerKind(const LayerParameter& layer) {
  const LayerType* type = LayerTypes::Get().Find(layer.type());
  if (layer.bottom_size() == 0) return "data";
  if (type != nullptr && (type->auto_top || type->scores)) return "loss";
  if (Outputs(layer) > 0) return "learned";
  if (type != nullptr && type->drawn_as[0] != 0) return type->drawn_as;
  if (layer.bottom_size() == 1 && layer.top_size() == 1) return "element";
  return "other";
}

NetDrawing MakeNetDrawing(const std::string& name, const std::vector<std::string>& inputs,
                          const std::vector<LayerParameter>& layers) {
  Builder builder(name);
  for (const std::string& input : inputs) builder.AddInput(input);
  for (size_t i = 0; i < layers.size(); ++i) builder.AddLayer(layers[i], static_cast<int>(i));
  return builder.Finish();
}

std::string ToDot(const NetDrawing& drawing, const std::vector<LayerParameter>& layers,
                  const std::string& rankdir) {
  std::ostringstream out;
  out << "digraph " << Quoted(drawing.name) << " {\n  rankdir=" << rankdir
      << "\n  node [shape=box style=filled fontname=\"Helvetica\" fontsize=11 fillcolor=white]\n"
      << "  edge [fontname=\"Helvetica\" fontsize=9]\n";
  for (size_t i = 0; i < drawing.nodes.size(); ++i) {
    const NetDrawing::Node& node = drawing.nodes[i];
    out << "  n" << i << " [label=" << Label(node.lines);
    if (node.layer < 0) {
      out << " shape=ellipse]\n";
    } else {
      out << " fillcolor=\"" << Color(LayerKind(layers[node.layer])) << '"'
          << Border(layers, node.layer) << "]\n";
    }
    // Each edge is written after the later one of its two nodes.
    for (const NetDrawing::Edge& edge : drawing.edges) {
      if (std::max(edge.from, edge.to) != static_cast<int>(i)) continue;
      out << "  n" << edge.from << " -> n" << edge.to;
      if (!edge.blob.empty()) out << " [label=" << Quoted(edge.blob) << ']';
      out << '\n';
    }
  }
  out << "}\n";
  return out.str();
}

}  // namespace doppio
