#include "tests/random/smaller.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

int CountOf(const Message& message, const FieldDescriptor* field) {
  return field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
}

Message* Part(Message* message, const FieldDescriptor* field, int i) {
  const Reflection& access = *message->GetReflection();
  return field->is_repeated() ? access.MutableRepeatedMessage(message, field, i)
                              : access.MutableMessage(message, field);
}

// Returns true for what makes up the graph, which WithoutLayers changes.
bool IsGraph(const FieldDescriptor& field) {
  const bool of_layer = field.containing_type() == LayerParameter::descriptor();
  const bool of_net = field.containing_type() == NetParameter::descriptor();
  const std::string& name = field.name();
  return (of_layer && (name == "name" || name == "type" || name == "top" || name == "bottom")) ||
         (of_net && name == "layer");
}

void RemoveElement(Message* message, const FieldDescriptor* field, int i) {
  const Reflection& access = *message->GetReflection();
  if (!field->is_repeated()) return access.ClearField(message, field);
  for (const int last = access.FieldSize(*message, field) - 1; i < last; ++i)
    access.SwapElements(message, field, i, i + 1);
  access.RemoveLast(message, field);
}

// Counts *index down. Returns true if the element was found and removed.
bool RemoveFrom(Message* message, int* index) {
  for (const FieldDescriptor* field : FieldsOf(*message)) {
    for (int i = 0; i < CountOf(*message, field); ++i) {
      if (!IsGraph(*field) && (*index)-- == 0) {
        RemoveElement(message, field, i);
        return true;
      }
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
          RemoveFrom(Part(message, field, i), index))
        return true;
    }
  }
  return false;
}

// Calls f(value) for integer fields and stores its result.
template <class F>
bool ChangeNumber(Message* message, const FieldDescriptor* field, int i, const F& f) {
  const Reflection& access = *message->GetReflection();
  const bool list = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = static_cast<int32_t>(
          f(list ? access.GetRepeatedInt32(*message, field, i) : access.GetInt32(*message, field)));
      list ? access.SetRepeatedInt32(message, field, i, value)
           : access.SetInt32(message, field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto value = static_cast<uint32_t>(f(list ? access.GetRepeatedUInt32(*message, field, i)
                                                      : access.GetUInt32(*message, field)));
      list ? access.SetRepeatedUInt32(message, field, i, value)
           : access.SetUInt32(message, field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t value =
          f(list ? access.GetRepeatedInt64(*message, field, i) : access.GetInt64(*message, field));
      list ? access.SetRepeatedInt64(message, field, i, value)
           : access.SetInt64(message, field, value);
      return true;
    }
    default:
      return false;
  }
}

// Calls f for each number in a path of a data file, between separators: "data/lmdb_23x3x9x7_5_0".
template <class F>
std::string ChangeNumbersIn(const std::string& path, const F& f) {
  std::string changed;
  for (size_t i = 0; i < path.size();) {
    const bool digit = std::isdigit(static_cast<unsigned char>(path[i])) != 0;
    const bool begins =
        digit && i > 0 && std::string("_x:;").find(path[i - 1]) != std::string::npos;
    if (!begins) {
      changed += path[i++];
      continue;
    }
    size_t end = i;
    while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])) != 0) ++end;
    const bool small = end - i < 10;
    changed +=
        small ? std::to_string(f(std::stoll(path.substr(i, end - i)))) : path.substr(i, end - i);
    i = end;
  }
  return changed;
}

bool IsDataPath(const std::string& text) { return text.rfind("data/", 0) == 0; }

// Calls f for each integer in the message.
template <class F>
void ChangeNumbers(Message* message, const F& f) {
  const Reflection& access = *message->GetReflection();
  for (const FieldDescriptor* field : FieldsOf(*message)) {
    for (int i = 0; i < CountOf(*message, field); ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        ChangeNumbers(Part(message, field, i), f);
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string text = field->is_repeated() ? access.GetRepeatedString(*message, field, i)
                                                      : access.GetString(*message, field);
        if (IsGraph(*field) || !IsDataPath(text)) continue;
        const std::string changed = ChangeNumbersIn(text, f);
        field->is_repeated() ? access.SetRepeatedString(message, field, i, changed)
                             : access.SetString(message, field, changed);
      } else {
        ChangeNumber(message, field, i, f);
      }
    }
  }
}

}  // namespace

NetParameter WithoutLayers(const NetParameter& net, int begin, int end) {
  NetParameter smaller = net;
  smaller.clear_layer();
  std::map<std::string, std::string> now;  // what a reader of a blob reads instead
  const auto instead = [&](const std::string& blob) {
    const auto found = now.find(blob);
    return found == now.end() ? blob : found->second;
  };
  for (int i = 0; i < net.layer_size(); ++i) {
    LayerParameter layer = net.layer(i);
    for (std::string& bottom : *layer.mutable_bottom()) bottom = instead(bottom);
    const bool removed = i >= begin && i < end;
    for (int t = 0; t < layer.top_size(); ++t) {
      if (removed && layer.bottom_size() > 0) {
        now[layer.top(t)] = layer.bottom(std::min(t, layer.bottom_size() - 1));
      } else if (net.layer(i).bottom_size() <= t || net.layer(i).bottom(t) != layer.top(t)) {
        now.erase(layer.top(t));
      } else {
        layer.set_top(t, layer.bottom(t));  // stays in place
        now[net.layer(i).top(t)] = layer.bottom(t);
      }
    }
    if (!removed) *smaller.add_layer() = layer;
  }
  return smaller;
}

NetParameter WithoutBranch(const NetParameter& net, int begin, int end) {
  std::vector<bool> kept(static_cast<size_t>(net.layer_size()), true);
  std::set<std::string> absent;
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    const bool needs = std::any_of(layer.bottom().begin(), layer.bottom().end(),
                                   [&](const std::string& b) { return absent.count(b) > 0; });
    const bool removed = needs || (i >= begin && i < end);
    kept[static_cast<size_t>(i)] = !removed;
    for (const std::string& top : layer.top()) {
      const bool in_place =
          std::count(layer.bottom().begin(), layer.bottom().end(), top) > 0 && !needs;
      if (removed && !in_place) absent.insert(top);
      if (!removed) absent.erase(top);
    }
  }
  std::set<std::string> read;
  for (int i = net.layer_size() - 1; i >= 0; --i) {
    const LayerParameter& layer = net.layer(i);
    const bool source = layer.bottom_size() == 0;
    const bool used = std::any_of(layer.top().begin(), layer.top().end(),
                                  [&](const std::string& top) { return read.count(top) > 0; });
    if (source && !used) kept[static_cast<size_t>(i)] = false;
    if (kept[static_cast<size_t>(i)]) read.insert(layer.bottom().begin(), layer.bottom().end());
  }
  NetParameter smaller = net;
  smaller.clear_layer();
  for (int i = 0; i < net.layer_size(); ++i) {
    if (kept[static_cast<size_t>(i)]) *smaller.add_layer() = net.layer(i);
  }
  return smaller;
}

bool RemoveField(int index, Message* message) { return RemoveFrom(message, &index); }

std::vector<int64_t> SmallerExtents(int64_t extent) {
  std::vector<int64_t> smaller;
  for (const int64_t value : {int64_t{1}, int64_t{2}, extent / 2, extent - 1}) {
    const bool known = std::find(smaller.begin(), smaller.end(), value) != smaller.end();
    if (value >= 1 && value < extent && !known) smaller.push_back(value);
  }
  return smaller;
}

bool LowerExtent(int index, size_t choice, Message* message, bool* changed) {
  bool found = false;
  *changed = false;
  ChangeNumbers(message, [&](int64_t value) {
    if (value <= 1 || index-- != 0) return value;
    found = true;
    const std::vector<int64_t> smaller = SmallerExtents(value);
    if (choice >= smaller.size()) return value;
    *changed = true;
    return smaller[choice];
  });
  return found;
}

}  // namespace doppio
