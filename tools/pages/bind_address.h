// The address that a server listens on, such as "127.0.0.1:8090", "[::1]:8090" or "localhost:0".
#ifndef DOPPIO_TOOLS_PAGES_BIND_ADDRESS_H_
#define DOPPIO_TOOLS_PAGES_BIND_ADDRESS_H_

#include <cstdint>
#include <string>

namespace doppio {

struct BindAddress {
  std::string host;   // IPv4 or IPv6 address in numeric form: "127.0.0.1", "::1"
  uint16_t port = 0;  // 0: the system chooses a free port
  bool ipv6 = false;
  // True if only processes on this machine can connect.
  bool loopback = false;
};

// Parses "ADDRESS:PORT"; an IPv6 address stands in brackets. "localhost" means 127.0.0.1; no other
// host name is resolved. Throws UsageError, whose message names `flag`, if `text` is malformed.
BindAddress ParseBindAddress(const std::string& flag, const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_BIND_ADDRESS_H_
