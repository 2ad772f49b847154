// The program gives the numbers of the oracle (tests/random/oracle), which shares no code with it.
// tests/random/oracle/run starts the oracle, because starting PyTorch takes seconds, and names its
// socket in DOPPIO_TEST_ORACLE. Without it, the relation says nothing.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "solvers/update/lr_policy.h"
#include "tests/random/layer_row.h"
#include "tests/random/oracle_dump.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

constexpr char kSocket[] = "DOPPIO_TEST_ORACLE";

// A connection to the oracle, for one question.
class OracleCall {
 public:
  explicit OracleCall(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    DOPPIO_CHECK(path.size() < sizeof address.sun_path, "a shorter path than " + path);
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* general = reinterpret_cast<const sockaddr*>(&address);
    if (socket_ < 0 || connect(socket_, general, sizeof address) != 0)
      throw FileError("cannot reach the oracle at '" + path + "': " + std::strerror(errno));
  }
  ~OracleCall() { close(socket_); }
  OracleCall(const OracleCall&) = delete;
  OracleCall& operator=(const OracleCall&) = delete;

  // Sends the folder of a dump and returns the oracle's line about it.
  std::string Judge(const std::string& folder) {
    const std::string question = folder + "\n";
    if (send(socket_, question.data(), question.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(question.size()))
      throw FileError("cannot send to the oracle: " + std::string(std::strerror(errno)));
    std::string answer;
    char part[256];
    for (ssize_t bytes = 1; bytes > 0;) {
      bytes = recv(socket_, part, sizeof part, 0);
      if (bytes > 0) answer.append(part, static_cast<size_t>(bytes));
    }
    return answer.empty() ? "differs: the oracle has ended" : answer;
  }

 private:
  const int socket_;
};

std::string CheckOracle(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const std::string path = std::filesystem::absolute(folder).string();
  RandomCase dumped = random_case;
  // Otherwise layers that read only data have no gradients to compare.
  if (draw->Chance(0.5)) dumped.net.set_force_backward(true);
  if (!DumpForOracle(dumped, path)) return "";
  const std::string line = OracleCall(std::getenv(kSocket)).Judge(path);
  return line.rfind("ok ", 0) == 0 ? "" : line;
}

// The dump runs passes one by one, so a rate that depends on the smoothed loss would not see it.
bool OracleKnows(const RandomCase& random_case) {
  return std::getenv(kSocket) != nullptr && !RateNeedsLoss(random_case.solver) &&
         HasNone(random_case, LayerRow::kNoOracle | LayerRow::kOutside);
}

DOPPIO_REGISTER(Relations, "oracle", {&CheckOracle, &OracleKnows});

}  // namespace
}  // namespace doppio
