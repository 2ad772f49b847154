// The network interfaces of this machine, by which processes without MPI exchange data.
#ifndef DOPPIO_PARALLEL_SOCKETS_INTERFACES_H_
#define DOPPIO_PARALLEL_SOCKETS_INTERFACES_H_

#include <string>
#include <vector>

namespace doppio {

// A network interface that is up, and its address as text.
struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool loopback = false;
};

// Returns all addresses of this machine that other machines can use (AddressText), and the loopback
// addresses, in the order of the interfaces. An interface may have several addresses.
std::vector<InterfaceAddress> InterfaceAddresses();

// Returns the addresses of this machine, "10.0.0.5,fd00::5,127.0.0.1", loopback addresses last; or
// those of the network interface `interface`, if it is not empty: "" if it is unknown or down.
std::string OwnAddresses(const std::string& interface = "");

// Returns "" if `interface` is empty or has an address. Otherwise returns "--interface=ib0: node1
// has no such network interface with an address; it has eth0 (10.0.0.5), lo (127.0.0.1)" for this
// machine, whose name is `host`.
std::string InterfaceProblem(const std::string& interface, const std::string& host);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_SOCKETS_INTERFACES_H_
