// Implements the function of tools/runs/metrics.h here, because it needs the schema.
#include "core/base/file.h"
#include "core/net/spec/prototxt.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"
#include "tools/nets/flat_settings.h"
#include "tools/runs/metrics.h"

namespace doppio {

std::map<std::string, std::string> ReadSettings(const std::string& folder) {
  FlatSettings settings;
  SolverParameter solver;
  ParseTextFile(folder + "/solver.prototxt", &solver);
  AddFlat(solver, "", &settings);
  const auto add_net = [&](const std::string& name, const std::string& prefix) {
    NetParameter net;
    ParseTextFile(folder + "/" + name, &net);
    AddFlat(net, prefix, &settings);
  };
  add_net("net.prototxt", "net.");
  for (int i = 0;; ++i) {
    const std::string name = "test_net_" + std::to_string(i) + ".prototxt";
    if (!FileExists(folder + "/" + name)) break;
    add_net(name, "test_net_" + std::to_string(i) + ".");
  }
  return settings;
}

}  // namespace doppio
