// Names that forks of Caffe gave to fields and layers Doppio does not have, or that older Caffe had
// elsewhere, so that a file of such a fork is told so, and not that its author mistyped something.
#ifndef DOPPIO_CORE_NET_SPEC_FORK_NAMES_H_
#define DOPPIO_CORE_NET_SPEC_FORK_NAMES_H_

#include <string>

namespace doppio {

// What to tell about `field` ("bn_param"; an enum value, or the type of a layer, is "type=CROP") of
// message `message`; "" when no fork is known to have it.
std::string ForkHint(const std::string& message, const std::string& field);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_FORK_NAMES_H_
