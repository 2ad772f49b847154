// A solver's file with everything it names: the net to train and the nets to test, read and told
// which state each is built for. Names of rules and policies are checked where these live.
#ifndef DOPPIO_CORE_NET_SPEC_SOLVER_SPEC_H_
#define DOPPIO_CORE_NET_SPEC_SOLVER_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/spec/overrides.h"
#include "core/net/spec/prototxt.h"
#include "core/net/spec/warning.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

// A net as written, but for old formats, which are upgraded; ready for MakeNetSpec(net, places,
// state, ...).
struct NetSource {
  NetParameter net;
  FieldPlaces places;
  std::string file;  // the solver's, for a net inside it
  NetState state;  // TRAIN or TEST, then what the net's own `state` says, then the solver's or the
                   // flags'
  // They name what the upgrade of an old format changed; LoadNet adds notes on overrides.
  std::vector<Warning> warnings;
};

constexpr int64_t kWholePass = -1;

struct TestNetSource : NetSource {
  int64_t iterations = kWholePass;  // batches per test; kWholePass: every sample once
};

struct SolverSpec {
  // As written and overridden, but: solver_type has become type, nets in it have the current
  // format, and snapshot_prefix is the beginning of a file's path ("FOLDER/NAME"), from the
  // solver's own name if the file does not say it.
  SolverParameter param;
  FieldPlaces places;
  std::string path;
  // They name what upgrades changed in it and its nets, once for each file; notes on overrides
  // follow.
  std::vector<Warning> warnings;
  NetSource train;
  // As Caffe numbers them: test_net_param, test_net, then the common net.
  std::vector<TestNetSource> tests;
};

// Reads a solver and its nets. A net's path counts from the working directory, as in Caffe; if
// there is no such file, from the solver's folder. `level` and `stages` are the flags', for the net
// to train. Tests: each test net has its test_iter; the common net (net, net_param) is tested once
// for each test_iter that is left. With no test_iter at all, every test net, or the common net if
// it has data in the TEST phase, is tested on whole passes as soon as test_interval or test_epoch
// says when. Throws all mistakes of all files at once; also those of overrides that changed
// nothing.
SolverSpec LoadSolver(const std::string& path, const Overrides& overrides = {}, int level = 0,
                      const std::vector<std::string>& stages = {});

// Reads one net for a command that has no solver.
NetSource LoadNet(const std::string& path, const Overrides& overrides = {}, Phase phase = TEST,
                  int level = 0, const std::vector<std::string>& stages = {});

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SOLVER_SPEC_H_
