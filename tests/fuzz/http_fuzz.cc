// Fuzzes the dashboard's HTTP requests. The dashboard shows one run, "a". The dictionary contains
// its access token.
#include <filesystem>
#include <optional>

#include "tests/fuzz/fuzz_input.h"
#include "tools/pages/dash_server.h"

namespace {

doppio::DashServer MakeServer() {
  const std::string folder = doppio::FuzzPath("runs");
  std::filesystem::create_directories(folder + "/a");
  doppio::WriteInput(folder + "/a/run.json", "{}");
  return doppio::DashServer(folder, "token", "cookie");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static doppio::DashServer server = MakeServer();
  doppio::AllowErrors([&] {
    const std::optional<doppio::HttpRequest> request =
        doppio::ParseHttpRequest(doppio::Text(data, size));
    if (request) server.Answer(*request);
  });
  return 0;
}
