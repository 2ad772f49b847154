#include "tools/net_drawing.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tools/layer_detail.h"

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

// Quoted text of several lines. "\n" between them is DOT's.
std::string Label(const std::vector<std::string>& lines) {
  std::string label = "\"";
  for (const std::string& line : lines) {
    const std::string quoted = Quoted(line);
    label += (label.size() > 1 ? "\\n" : "") + quoted.substr(1, quoted.size() - 2);
  }
  return label + "\"";
}

// num_output of whichever message of parameters has one that is set; 0: none.
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

// Phases that its include rules name.
std::string Phases(const LayerParameter& layer) {
  std::vector<std::string> phases;
  for (const NetStateRule& rule : layer.include()) {
    if (rule.has_phase()) phases.push_back(Phase_Name(rule.phase()));
  }
  return Join(phases, ", ");
}

// By what kind of a layer it is.
const char* Color(const LayerParameter& layer) {
  const std::string& type = layer.type();
  const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
  if (layer.bottom_size() == 0) return "#d9d9d9";
  if (has("Loss") || has("Accuracy")) return "#fbb4ae";
  if (Outputs(layer) > 0) return "#b3cde3";
  if (has("Pool")) return "#fed9a6";
  if (has("Norm") || has("LRN") || has("Scale")) return "#decbe4";
  if (layer.bottom_size() == 1 && layer.top_size() == 1) return "#ccebc5";
  return "#ffffff";
}

class Drawing {
 public:
  Drawing(const std::string& name, const std::string& rankdir) {
    out_ << "digraph " << Quoted(name) << " {\n  rankdir=" << rankdir
         << "\n  node [shape=box style=filled fontname=\"Helvetica\" fontsize=11 fillcolor=white]\n"
         << "  edge [fontname=\"Helvetica\" fontsize=9]\n";
  }

  void AddInput(const std::string& blob) { blobs_[blob].makers = {AddEllipse(blob)}; }

  void AddLayer(const LayerParameter& layer) {
    std::vector<std::string> lines = {layer.name(), layer.type() + LayerDetail(layer)};
    if (Outputs(layer) > 0) lines.push_back(std::to_string(Outputs(layer)) + " outputs");
    if (!Phases(layer).empty()) lines.push_back("(" + Phases(layer) + ")");
    const std::string node =
        AddNode(Label(lines), std::string(" fillcolor=\"") + Color(layer) + "\"");
    for (const std::string& bottom : layer.bottom()) {
      if (blobs_.count(bottom) == 0) AddInput(bottom);
      Blob& blob = blobs_[bottom];
      blob.read = true;
      for (const std::string& maker : blob.makers) {
        out_ << "  " << maker << " -> " << node << " [label=" << Quoted(bottom) << "]\n";
      }
    }
    for (const std::string& top : layer.top()) {
      Blob& blob = blobs_[top];
      if (blob.read) blob = Blob();
      blob.makers.push_back(node);
    }
  }

  std::string Finish() {
    for (const auto& [name, blob] : blobs_) {
      if (blob.read) continue;
      const std::string end = AddEllipse(name);
      for (const std::string& maker : blob.makers) out_ << "  " << maker << " -> " << end << '\n';
    }
    out_ << "}\n";
    return out_.str();
  }

 private:
  // The latest version of one.
  struct Blob {
    std::vector<std::string> makers;  // nodes
    bool read = false;
  };

  std::string AddNode(const std::string& label, const std::string& look) {
    const std::string node = "n" + std::to_string(nodes_++);
    out_ << "  " << node << " [label=" << label << look << "]\n";
    return node;
  }
  std::string AddEllipse(const std::string& blob) {
    return AddNode(Quoted(blob), " shape=ellipse");
  }

  std::ostringstream out_;
  std::map<std::string, Blob> blobs_;
  int nodes_ = 0;
};

}  // namespace

std::string DrawNet(const std::string& name, const std::vector<std::string>& inputs,
                    const std::vector<LayerParameter>& layers, const std::string& rankdir) {
  Drawing drawing(name, rankdir);
  for (const std::string& input : inputs) drawing.AddInput(input);
  for (const LayerParameter& layer : layers) drawing.AddLayer(layer);
  return drawing.Finish();
}

}  // namespace doppio
