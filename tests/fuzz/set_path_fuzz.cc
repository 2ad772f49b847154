// Fuzzes --set and --unset. Each line of an input is an argument of --set, or of --unset if it
// begins with '-'. They are applied to a small solver and a small net.
#include <sstream>
#include <vector>

#include "core/net/spec/overrides.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

constexpr char kSolver[] = "net: 'net' base_lr: 0.1 stepvalue: 10 stepvalue: 20 max_iter: 30";
constexpr char kNet[] =
    "layer { name: 'mnist' type: 'Data' top: 'x' top: 'y' include { phase: TRAIN }"
    " data_param { source: 'x' batch_size: 8 } }\n"
    "layer { name: 'mnist' type: 'Data' top: 'x' top: 'y' include { phase: TEST } }\n"
    "layer { name: 'conv1' type: 'Convolution' bottom: 'x' top: 'c' param { lr_mult: 1 }"
    " convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'c' bottom: 'y' }\n";

void Apply(const std::vector<std::string>& sets, const std::vector<std::string>& unsets) {
  const doppio::Overrides overrides = doppio::ParseOverrides(sets, unsets);
  doppio::SolverParameter solver;
  doppio::FieldPlaces solver_places = doppio::ParseText(kSolver, "solver.prototxt", &solver);
  overrides.ApplyToSolver(&solver, &solver_places);
  doppio::NetParameter net;
  doppio::FieldPlaces net_places = doppio::ParseText(kNet, "net.prototxt", &net);
  overrides.ApplyToNet(&net, &net_places);
  overrides.Notes();
  overrides.CheckAllUsed();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> sets, unsets;
  std::istringstream lines(doppio::Text(data, size));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] == '-') {
      unsets.push_back(line.substr(1));
    } else {
      sets.push_back(line);
    }
  }
  doppio::AllowErrors([&] { Apply(sets, unsets); });
  return 0;
}
