#include "parallel/sockets/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>

#include "parallel/sockets/rank_connections.h"

namespace doppio {

std::vector<InterfaceAddress> InterfaceAddresses() {
  std::vector<InterfaceAddress> list;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return list;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const std::string text = AddressText(one->ifa_addr);
    if (!text.empty()) list.push_back({one->ifa_name, text, (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(all);
  return list;
}

std::string OwnAddresses(const std::string& interface) {
  std::string list, loopback;
  for (const InterfaceAddress& one : InterfaceAddresses()) {
    if (interface.empty() || interface == one.interface)
      (one.loopback ? loopback : list) += "," + one.address;
  }
  list += loopback;
  if (list.empty()) return interface.empty() ? "127.0.0.1" : "";
  list = list.substr(1);
  if (list.size() < sizeof(RankListener::addresses)) return list;
  return list.substr(0, list.rfind(',', sizeof(RankListener::addresses) - 1));
}

std::string InterfaceProblem(const std::string& interface, const std::string& host) {
  if (interface.empty() || !OwnAddresses(interface).empty()) return "";
  std::string known, last;
  for (const InterfaceAddress& one : InterfaceAddresses()) {
    if (one.interface == last) continue;  // its first address is enough
    last = one.interface;
    known += (known.empty() ? "" : ", ") + one.interface + " (" + one.address + ")";
  }
  return "--interface=" + interface + ": " + host +
         " has no such network interface with an address; " +
         (known.empty() ? "it has none" : "it has " + known);
}

}  // namespace doppio
