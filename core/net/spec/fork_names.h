// Names of fields and layers that Doppio does not have but that forks of Caffe use, or that older
// versions of Caffe used in another place. With these names, an error message can name the fork
// instead of reporting a typing mistake.
#ifndef DOPPIO_CORE_NET_SPEC_FORK_NAMES_H_
#define DOPPIO_CORE_NET_SPEC_FORK_NAMES_H_

#include <string>

namespace doppio {

// Returns a hint for `field` of message `message`, or "" if no known fork has the field. Pass an
// enum value as "precision=MINIFLOAT" and a layer type as "type=FocalLoss".
std::string ForkHint(const std::string& message, const std::string& field);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_FORK_NAMES_H_
