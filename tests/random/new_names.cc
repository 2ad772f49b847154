#include "tests/random/new_names.h"

#include <set>
#include <vector>

namespace doppio {
namespace {

// Draws names, each of which occurs once.
class Namer {
 public:
  explicit Namer(Draw* draw) : draw_(draw) {}

  std::string Next() {
    static const std::vector<std::string> starts = {
        "n",        "block/", "/", "a//b", "x y ",         "100%",
        "\xc3\xbc", "Conv.",  "_", "-",    "res2a_branch", "../"};
    std::string name;
    do {
      name = draw_->Of(starts) + std::to_string(++count_);
    } while (taken_.count(name) > 0);
    return name;
  }
  // Makes Next leave out a name that stays in the net.
  void Keep(const std::string& name) { taken_.insert(name); }
  // Returns the new name of `old`, the same each time.
  std::string Of(const std::string& old, std::map<std::string, std::string>* known) {
    std::string& name = (*known)[old];
    if (name.empty()) name = Next();
    return name;
  }

 private:
  Draw* const draw_;
  int count_ = 0;
  std::set<std::string> taken_;
};

std::map<std::string, std::string> Reversed(const std::map<std::string, std::string>& names) {
  std::map<std::string, std::string> reversed;
  for (const auto& [from, to] : names) reversed[to] = from;
  return reversed;
}

// Returns the blob's old name, or the name itself: the file does not name the tops of some losses.
std::string OldBlob(const NewNames& names, const std::string& blob) {
  const auto found = names.blobs.find(blob);
  return found == names.blobs.end() ? names.OldLayer(blob) : found->second;
}

}  // namespace

std::string NewNames::OldLayer(const std::string& name) const {
  std::string best;
  for (const auto& [now, old] : layers) {
    if (now.size() > best.size() && name.rfind(now, 0) == 0 &&
        (name.size() == now.size() || name[now.size()] == '_'))
      best = now;
  }
  return best.empty() ? name : layers.at(best) + name.substr(best.size());
}

Outcome NewNames::Old(const Outcome& outcome) const {
  Outcome old = outcome;
  old.numbers.clear();
  for (const auto& [name, values] : outcome.numbers) {
    // KIND NAME, KIND NAME INDEX, KIND NAME INDEX SLOT or KIND NET NAME ITERATION; names may have
    // spaces (outcome.h).
    const std::string kind = name.substr(0, name.find(' '));
    size_t begin = kind.size() + 1, end = name.size();
    const bool of_layer = kind == "weight" || kind == "move" || kind == "history";
    if (kind == "test" || kind == "mean") begin = name.find(' ', begin) + 1;
    if (kind != "output" && kind != "loss") end = name.rfind(' ');
    if (kind == "history") end = name.rfind(' ', end - 1);
    std::string renamed = name.substr(begin, end - begin);
    if (kind != "loss") renamed = of_layer ? OldLayer(renamed) : OldBlob(*this, renamed);
    old.numbers[name.substr(0, begin) + renamed + name.substr(end)] = values;
  }
  return old;
}

NewNames GiveNewNames(Draw* draw, NetParameter* net) {
  Namer namer(draw);
  std::map<std::string, std::string> layers, blobs, params;
  for (const LayerParameter& layer : net->layer()) {
    if (layer.bottom_size() > 0) continue;
    namer.Keep(layer.name());
    for (const std::string& top : layer.top()) {
      namer.Keep(top);
      blobs[top] = top;
    }
  }
  for (LayerParameter& layer : *net->mutable_layer()) {
    if (layer.bottom_size() > 0) layer.set_name(namer.Of(layer.name(), &layers));
    for (std::string& bottom : *layer.mutable_bottom()) bottom = namer.Of(bottom, &blobs);
    for (std::string& top : *layer.mutable_top()) top = namer.Of(top, &blobs);
    for (ParamSpec& param : *layer.mutable_param()) {
      if (!param.name().empty()) param.set_name(namer.Of(param.name(), &params));
    }
  }
  NewNames names;
  names.layers = Reversed(layers);
  names.blobs = Reversed(blobs);
  return names;
}

}  // namespace doppio
