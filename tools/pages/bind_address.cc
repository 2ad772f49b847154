#include "tools/pages/bind_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/base/error.h"
#include "core/base/text/whole_number.h"

namespace doppio {

BindAddress ParseBindAddress(const std::string& flag, const std::string& text) {
  const UsageError mistake(
      "--", flag, " needs an address and a port, such as 127.0.0.1:8090 or [::1]:8090; got '", text,
      "'");
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw mistake;
  BindAddress address;
  address.host = text.substr(0, colon);
  const std::optional<int64_t> port = ParseWholeNumber(text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) throw mistake;
  address.port = static_cast<uint16_t>(*port);
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
    address.ipv6 = true;
  }
  in_addr four;
  in6_addr six;
  if (address.ipv6 ? inet_pton(AF_INET6, address.host.c_str(), &six) != 1
                   : inet_pton(AF_INET, address.host.c_str(), &four) != 1) {
    throw mistake;
  }
  address.loopback = address.ipv6 ? IN6_IS_ADDR_LOOPBACK(&six) : ntohl(four.s_addr) >> 24 == 127;
  return address;
}

}  // namespace doppio
