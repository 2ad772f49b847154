#include "core/net/graph/param_table.h"

#include "core/net/graph/filler.h"

namespace doppio {

void ParamTable::Add(int index, Graph* graph) {
  const LayerSpec& spec = graph->layer(index);
  Node& node = graph->nodes[index];
  const int count = static_cast<int>(node.shape.params.size());
  spec.RefuseIf(spec.param.param_size() > count, {"param", count}, "param is given ",
                spec.param.param_size(), " times, the layer has ", count, " parameter(s)");
  if (count == 0) return;
  const auto [named, added] = with_params_.emplace(spec.name(), index);
  if (!added) {
    throw spec.Mistake("name", StrCat("line ", graph->layer(named->second).At().line,
                                      " has another layer with parameters and this name, and files "
                                      "of weights tell them apart by name; give one another name"));
  }
  const bool running = node.shape.statistics && node.shape.statistics->running;
  for (int i = 0; i < count; ++i) {
    const ParamShape& shape = node.shape.params[i];
    const ParamSpec given = i < spec.param.param_size() ? spec.param.param(i) : ParamSpec();
    node.param_shapes.push_back(shape.shape);
    auto shared = given.name().empty() ? by_share_name_.end() : by_share_name_.find(given.name());
    if (shared != by_share_name_.end()) {
      Share(spec, i, shape.shape, shared->second, graph);
      graph->params[shared->second].updated |= !shape.trainable && !running;
      node.params.push_back(shared->second);
      continue;
    }
    try {
      CheckFiller(shape.filler, shape.shape);
    } catch (const UserError& e) {
      throw spec.Mistake("", e.message());
    }
    GraphParam param;
    static_cast<ParamShape&>(param) = shape;
    param.node = index;
    param.index = i;
    param.updated = !shape.trainable && !running;
    param.lr_mult = shape.trainable ? given.lr_mult() : 0;
    param.decay_mult = given.decay_mult();
    const int id = static_cast<int>(graph->params.size());
    if (!given.name().empty()) by_share_name_[given.name()] = id;
    has_mults_.push_back({given.has_lr_mult(), given.has_decay_mult()});
    graph->params.push_back(param);
    node.params.push_back(id);
  }
}

// Adds a later user of parameter `id`. The shapes must agree. A multiplier that only this user sets
// takes effect.
void ParamTable::Share(const LayerSpec& spec, int i, const Shape& shape, int id, Graph* graph) {
  const ParamSpec& given = spec.param.param(i);
  GraphParam& owner = graph->params[id];
  const LayerSpec& first = graph->layer(owner.node);
  ++owner.uses;
  const std::string with = StrCat("param '", given.name(), "' is shared with layer '", first.name(),
                                  "' (line ", first.At().line, ")");
  if (shape != owner.shape) {
    spec.RefuseIf(given.share_mode() != ParamSpec::PERMISSIVE, {"param.name", i}, with,
                  ", where its shape is ", owner.shape.ToString(), ", not ", shape.ToString());
    spec.RefuseIf(shape.count() != owner.shape.count(), {"param.name", i}, with, ", where it has ",
                  owner.shape.count(), " values, not ", shape.count());
    owner.reshaped = true;
  }
  auto merge = [&](bool given_here, float value, bool* known, float* owned, const char* field) {
    if (!given_here) return;
    spec.RefuseIf(*known && *owned != value, {std::string("param.") + field, i}, with, ", where ",
                  field, " is ", *owned, ", not ", value);
    *known = true;
    *owned = value;
  };
  Mults& mults = has_mults_[id];
  merge(given.has_lr_mult(), given.lr_mult(), &mults.lr, &owner.lr_mult, "lr_mult");
  merge(given.has_decay_mult(), given.decay_mult(), &mults.decay, &owner.decay_mult, "decay_mult");
}

}  // namespace doppio
