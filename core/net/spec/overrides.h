// `--set path=value` and `--unset path`: change a solver or net without editing its files.
//
//   base_lr=0.05                                       a field of the solver
//   stepvalue=[1000,2000]  stepvalue+=3000             replaces a repeated field, appends to it
//   net.layer[conv1].convolution_param.num_output=32   a field of a layer, in every loaded net
//   net.layer[mnist,phase=TRAIN].data_param.batch_size=128
//   net.layer[type=Data,phase=TRAIN].data_param.batch_size=128
//   net.layer[*].param[0].lr_mult=0                    freezes every weight
//
// override_path.h describes which layers * skips. The value has the syntax of the file after the
// ':', but the quotes of a string may be omitted. A mistake in an option, or in a field that an
// option has set, is a UserError whose place is the option, "--set base_lr=x".
#ifndef DOPPIO_CORE_NET_SPEC_OVERRIDES_H_
#define DOPPIO_CORE_NET_SPEC_OVERRIDES_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/spec/prototxt.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

struct Override;

// Parsed --set and --unset options. Cheap to copy; copies share the record of used options.
class Overrides {
 public:
  // Apply the changes in the order of the options, and record the options as the places of changed
  // fields. `places` may be null.
  void ApplyToSolver(SolverParameter* solver, FieldPlaces* places) const;
  void ApplyToNet(NetParameter* net, FieldPlaces* places) const;
  // Throws all options that changed nothing. Call after everything is loaded.
  void CheckAllUsed() const;
  // Returns a note for each option that names a layer but changed several layers of one net, such
  // as the data layers of both phases with the same name.
  std::vector<Warning> Notes() const;

 private:
  friend Overrides ParseOverrides(const std::vector<std::string>& sets,
                                  const std::vector<std::string>& unsets);
  std::vector<std::shared_ptr<Override>> list_;
};

// Parses the options. Throws all mistakes in paths and values at once.
Overrides ParseOverrides(const std::vector<std::string>& sets,
                         const std::vector<std::string>& unsets = {});

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_OVERRIDES_H_
