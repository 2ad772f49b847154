#include "core/net/graph/layer_checks.h"

#include "core/base/checked_product.h"
#include "core/base/file_limits.h"
#include "core/base/text/nearest.h"
#include "core/net/spec/fork_names.h"
#include "core/net/spec/upgrade.h"

namespace doppio {
namespace {

std::string UnknownType(const std::string& type) {
  if (type == "Python")  // registered only in programs with an interpreter
    return "type '" + type + "' of Caffe is not supported by this version of Doppio";
  V1LayerParameter::LayerType old;
  if (V1LayerParameter::LayerType_Parse(type, &old) && old != V1LayerParameter::NONE)
    return "'" + type + "' is a type of layers { }; write type: \"" + TypeName(old) + "\" here";
  const std::string fork = ForkHint("LayerParameter", "type=" + type);
  return "unknown type '" + type + "'" +
         (fork.empty() ? DidYouMean(type, LayerTypes::Get().Names()) : ": " + fork);
}

void CheckCount(const LayerSpec& spec, const char* what, int have, int min, int max) {
  if (have >= min && (max == kAny || have <= max)) return;
  std::string wanted = std::to_string(min);
  if (max == kAny) {
    wanted = "at least " + wanted;
  } else if (max != min) {
    wanted += " to " + std::to_string(max);
  }
  throw spec.Mistake(have > 0 ? what : "",
                     StrCat(spec.type(), " takes ", wanted, " ", what, "(s), got ", have),
                     have > max && max != kAny ? max : 0);
}

}  // namespace

const LayerType* FindType(const LayerSpec& spec) {
  spec.RefuseIf(spec.type().empty(), "", "has no type");
  const LayerType* type = LayerTypes::Get().Find(spec.type());
  if (type == nullptr) throw spec.Mistake("type", UnknownType(spec.type()));
  return type;
}

void CheckCounts(const LayerSpec& spec, const LayerType& type) {
  const int bottoms = spec.param.bottom_size(), tops = spec.param.top_size();
  CheckCount(spec, "bottom", bottoms, type.min_bottoms, type.max_bottoms);
  CheckCount(spec, "top", tops, type.auto_top ? 0 : type.min_tops, type.max_tops);
  spec.RefuseIf(type.same_count && bottoms != tops, "top", spec.type(),
                " produces one top per bottom, but it has ", bottoms, " bottoms, ", tops, " tops");
}

void CheckSizes(const LayerSpec& spec, const LayerShape& shape) {
  const auto check = [&](const Shape& of, const std::string& what) {
    if (CheckedProduct(of.dims(), kMaxPlanned)) return;
    throw spec.Mistake("", StrCat(what, " of shape ", of.ToString(), " has more than the limit of ",
                                  kMaxPlanned, " elements"));
  };
  for (size_t i = 0; i < shape.tops.size(); ++i) check(shape.tops[i], "top " + std::to_string(i));
  for (size_t i = 0; i < shape.params.size(); ++i)
    check(shape.params[i].shape, "parameter " + std::to_string(i));
}

}  // namespace doppio
