// What is no mistake, but worth telling the user. Whoever reads the files passes it on; commands
// print it.
#ifndef DOPPIO_CORE_NET_SPEC_WARNING_H_
#define DOPPIO_CORE_NET_SPEC_WARNING_H_

#include <string>

#include "core/base/error.h"

namespace doppio {

struct Warning {
  SourceLoc at;
  std::string message;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_WARNING_H_
