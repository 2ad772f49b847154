// Computes traits and facts of a net from its layers, without building its graph.
#include <algorithm>
#include <map>

#include "core/net/contract/layer.h"
#include "tests/random/layer_row.h"
#include "tests/random/random_case.h"
#include "tests/random/source_row.h"

namespace doppio {
namespace {

enum class Role { kSource, kInner, kLoss, kScore, kSink };

Role RoleOf(const LayerParameter& layer) {
  if (layer.type() == "Silence") return Role::kSink;
  if (const LayerRow* row = LayerRows::Get().Find(layer.type())) {
    switch (row->place) {
      case LayerRow::kSource:
        return Role::kSource;
      case LayerRow::kInner:
        return Role::kInner;
      case LayerRow::kLoss:
        return Role::kLoss;
      case LayerRow::kScore:
        return Role::kScore;
    }
  }
  return layer.bottom_size() == 0 ? Role::kSource : Role::kInner;
}

bool HasLossWeight(const LayerParameter& layer) {
  return std::any_of(layer.loss_weight().begin(), layer.loss_weight().end(),
                     [](float weight) { return weight != 0; });
}

unsigned LayerTraits(const LayerParameter& layer) {
  unsigned traits = 0;
  if (const LayerRow* row = LayerRows::Get().Find(layer.type()))
    traits |= row->traits_of != nullptr ? row->traits_of(layer) : row->traits;
  const std::string backend = DataParameter::DB_Name(layer.data_param().backend());
  for (const std::string& name : {layer.type(), layer.type() + "/" + backend}) {
    if (const SourceRow* row = SourceRows::Get().Find(name)) traits |= row->traits;
  }
  if (RoleOf(layer) == Role::kInner && HasLossWeight(layer)) traits |= LayerRow::kWholeBatch;
  return traits;
}

// The layers that read one version of a blob.
struct Readers {
  int all = 0, inner = 0;
};

int CountBranches(const NetParameter& net) {
  std::vector<Readers> versions;
  std::map<std::string, size_t> current;  // blob -> its last version
  for (const LayerParameter& layer : net.layer()) {
    const Role role = RoleOf(layer);
    const std::set<std::string> bottoms(layer.bottom().begin(), layer.bottom().end());
    for (const std::string& bottom : bottoms) {
      if (role == Role::kScore || role == Role::kSink || current.count(bottom) == 0) continue;
      Readers& readers = versions[current[bottom]];
      ++readers.all;
      readers.inner += role == Role::kInner;
    }
    for (const std::string& top : layer.top()) {
      current[top] = versions.size();
      versions.emplace_back();
    }
  }
  return static_cast<int>(
      std::count_if(versions.begin(), versions.end(),
                    [](const Readers& readers) { return readers.all > 1 && readers.inner > 0; }));
}

int CountShared(const NetParameter& net) {
  std::map<std::string, int> users;
  for (const LayerParameter& layer : net.layer()) {
    for (const ParamSpec& param : layer.param()) {
      if (!param.name().empty()) ++users[param.name()];
    }
  }
  return static_cast<int>(
      std::count_if(users.begin(), users.end(), [](const auto& user) { return user.second > 1; }));
}

}  // namespace

unsigned TraitsOf(const NetParameter& net) {
  unsigned traits = 0;
  for (const LayerParameter& layer : net.layer()) traits |= LayerTraits(layer);
  return traits;
}

CaseFacts FactsOf(const NetParameter& net) {
  CaseFacts facts;
  for (const LayerParameter& layer : net.layer()) {
    const Role role = RoleOf(layer);
    facts.layers += role == Role::kInner;
    facts.sources += role == Role::kSource;
    facts.losses += role == Role::kLoss;
    facts.in_place += std::any_of(layer.top().begin(), layer.top().end(), [&](const auto& top) {
      return std::count(layer.bottom().begin(), layer.bottom().end(), top) > 0;
    });
  }
  facts.branches = CountBranches(net);
  facts.shared = CountShared(net);
  return facts;
}

}  // namespace doppio
