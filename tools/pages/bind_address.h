// Where a server listens: "127.0.0.1:8090", "[::1]:8090", "localhost:0".
#ifndef DOPPIO_TOOLS_PAGES_BIND_ADDRESS_H_
#define DOPPIO_TOOLS_PAGES_BIND_ADDRESS_H_

#include <cstdint>
#include <string>

namespace doppio {

struct BindAddress {
  std::string host;   // a number, of IPv4 or IPv6: "127.0.0.1", "::1"
  uint16_t port = 0;  // 0: any that is free
  bool ipv6 = false;
  // Whether only this machine can reach it.
  bool loopback = false;
};

// "localhost" is 127.0.0.1; other names are not looked up. Throws UsageError that names `flag`.
BindAddress ParseBindAddress(const std::string& flag, const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_BIND_ADDRESS_H_
