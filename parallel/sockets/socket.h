// Owns a socket and closes it when destroyed.
#ifndef DOPPIO_PARALLEL_SOCKETS_SOCKET_H_
#define DOPPIO_PARALLEL_SOCKETS_SOCKET_H_

#include "core/base/unique_fd.h"

namespace doppio {

using Socket = UniqueFd;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_SOCKETS_SOCKET_H_
