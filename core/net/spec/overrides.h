// `--set path=value` and `--unset path`: changes to the files without editing them.
//
//   base_lr=0.05                                       a field of the solver
//   stepvalue=[1000,2000]  stepvalue+=3000             a repeated field, replaced and appended to
//   net.layer[conv1].convolution_param.num_output=32   a field of a layer, in every net that is
//                                                      loaded
//   net.layer[mnist,phase=TRAIN].data_param.batch_size=128
//   net.layer[type=Data,phase=TRAIN].data_param.batch_size=128
//   net.layer[*].param[0].lr_mult=0                    freezes every weight; see override_path.h
//   for what * passes over
//
// The value is what the file would say behind the ':'; the quotes of a string may be left out. A
// mistake is a UserError whose place is the option itself, "--set base_lr=x", and so is any later
// complaint about the field.
#ifndef DOPPIO_CORE_NET_SPEC_OVERRIDES_H_
#define DOPPIO_CORE_NET_SPEC_OVERRIDES_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "core/net/spec/warning.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

struct Override;

// Cheap to copy: copies share the record of what has been used.
class Overrides {
 public:
  // In the order of the options. `places` (may be null) learns of the changes.
  void ApplyToSolver(SolverParameter* solver, FieldPlaces* places) const;
  void ApplyToNet(NetParameter* net, FieldPlaces* places) const;
  // To be called when everything is loaded: throws for those that changed nothing, all at once.
  void CheckAllUsed() const;
  // One for each that names a layer and has changed several layers of one net, as a name that the
  // data layers of both phases have.
  std::vector<Warning> Notes() const;

 private:
  friend Overrides ParseOverrides(const std::vector<std::string>& sets,
                                  const std::vector<std::string>& unsets);
  std::vector<std::shared_ptr<Override>> list_;
};

// Checks every path and value; throws all mistakes at once.
Overrides ParseOverrides(const std::vector<std::string>& sets,
                         const std::vector<std::string>& unsets = {});

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_OVERRIDES_H_
