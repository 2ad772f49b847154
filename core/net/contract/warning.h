// A message to the user that is not an error. The code that reads files collects warnings; commands
// print them.
#ifndef DOPPIO_CORE_NET_CONTRACT_WARNING_H_
#define DOPPIO_CORE_NET_CONTRACT_WARNING_H_

#include <string>

#include "core/base/error.h"

namespace doppio {

struct Warning {
  SourceLoc at;
  std::string message;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_WARNING_H_
