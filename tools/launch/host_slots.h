// The machines of a job, and how many ranks each gets.
#ifndef DOPPIO_TOOLS_LAUNCH_HOST_SLOTS_H_
#define DOPPIO_TOOLS_LAUNCH_HOST_SLOTS_H_

#include <string>
#include <vector>

namespace doppio {

struct HostSlots {
  std::string host;  // a name or an address, possibly with "user@" in front; "" is this machine
  int slots = 0;
};

// Reads a list such as "a:4,me@b:4,[fe80::1]:2". A host without a number has 1 slot, and a host
// that is named again has more. Throws UsageError.
std::vector<HostSlots> ParseHosts(const std::string& list);
// Reads a file with one host on each line, as "a", "a:4" or Open MPI's "a slots=4". '#' begins a
// comment. Throws FileError, and UserError with the line.
std::vector<HostSlots> ReadHostFile(const std::string& path);

// Returns the first `ranks` slots, or all if `ranks` is 0. Throws UsageError if there are fewer.
std::vector<HostSlots> TakeSlots(std::vector<HostSlots> hosts, int ranks);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_LAUNCH_HOST_SLOTS_H_
