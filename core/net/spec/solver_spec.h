// Reads a solver's file and all nets that it names: the net to train and the nets to test, each
// with the state for which it is built. Names of update rules and learning rate policies are
// checked elsewhere.
#ifndef DOPPIO_CORE_NET_SPEC_SOLVER_SPEC_H_
#define DOPPIO_CORE_NET_SPEC_SOLVER_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/spec/overrides.h"
#include "core/net/spec/prototxt.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

// A net as in its file, except that old formats are upgraded. Ready for MakeNetSpec(net, places,
// state, ...).
struct NetSource {
  NetParameter net;
  FieldPlaces places;
  std::string file;  // the solver's file, for a net inside it
  // TRAIN or TEST, merged with the net's own `state` and then with the state from the solver or the
  // flags.
  NetState state;
  // The changes that the upgrade of an old format made. LoadNet adds notes on overrides.
  std::vector<Warning> warnings;
};

// A number of test iterations that means one pass over all samples.
constexpr int64_t kWholePass = -1;

// A net to test, and the length of its tests.
struct TestNetSource : NetSource {
  int64_t iterations = kWholePass;  // batches per test; kWholePass reads every sample once
};

// A solver with its nets.
struct SolverSpec {
  // The solver's file with overrides, except that solver_type is converted to type, nets in the
  // file have the current format, and snapshot_prefix is the beginning of a path ("FOLDER/NAME"),
  // derived from the solver's own name if the file has none.
  SolverParameter param;
  FieldPlaces places;
  std::string path;
  // The changes that upgrades made in the solver and its nets, once per file, followed by notes on
  // overrides.
  std::vector<Warning> warnings;
  NetSource train;
  // In Caffe's order: test_net_param, test_net, then the common net.
  std::vector<TestNetSource> tests;
};

// Reads a solver and its nets. The path of a net is relative to the working directory, as in Caffe,
// or, if that file does not exist, to the solver's folder. `level` and `stages` are the flags for
// the net to train.
//
// Each test net has its test_iter. The common net (net, net_param) is tested once for each
// remaining test_iter. If there is no test_iter, but test_interval or test_epoch is set, every test
// net, or the common net if it has data in the TEST phase, is tested on whole passes.
//
// Throws all mistakes of all files at once, else all overrides that changed nothing.
SolverSpec LoadSolver(const std::string& path, const Overrides& overrides = {}, int level = 0,
                      const std::vector<std::string>& stages = {});

// Reads one net, for commands without a solver.
NetSource LoadNet(const std::string& path, const Overrides& overrides = {}, Phase phase = TEST,
                  int level = 0, const std::vector<std::string>& stages = {});

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SOLVER_SPEC_H_
