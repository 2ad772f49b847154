// `dash`: serves a web page that shows the progress of runs, on this machine or through an ssh
// tunnel.
#include <signal.h>

#include <iostream>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/signals.h"
#include "tools/pages/bind_address.h"
#include "tools/pages/dash_server.h"
#include "tools/pages/http_server.h"
#include "tools/runs/metrics.h"

namespace doppio {
namespace {

std::string TokenOf(const PageOptions& options, const BindAddress& address) {
  if (options.token == "auto") {
    if (!address.loopback) {
      throw UsageError(
          "--bind=" + options.bind +
          " lets other machines connect without encryption; use ssh -L and 127.0.0.1, or set "
          "DOPPIO_TOKEN (or --token) to confirm");
    }
    return RandomToken();
  }
  const char* const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (options.token.size() < 8 || options.token.find_first_not_of(letters) != std::string::npos) {
    throw UsageError(
        "--token needs 8 or more letters, digits, dots, dashes and underscores, or auto");
  }
  return options.token;
}

ExitCode RunDash(const CommandLine& line, bool* began) {
  const BindAddress address = ParseBindAddress("bind", line.flags.bind);
  const std::string token = TokenOf(line.flags, address);
  const std::string folder = line.flags.runs.empty() ? RunsFolder() : line.flags.runs;
  FindRuns(folder);
  HttpServer server(address);
  *began = true;
  const std::string port = std::to_string(server.port());
  const std::string host = address.ipv6 ? "[" + address.host + "]" : address.host;
  DashServer dash(folder, token, "doppio_" + port);
  std::cout << "http://" << host << ':' << port << "/?token=" << token << '\n';
  if (address.loopback) {
    std::cout << "from another machine: ssh -L " << port << ':' << host << ':' << port << ' '
              << HostName() << "   and open the same address there\n";
  }
  std::cout << "Press Ctrl-C to stop." << std::endl;
  SignalHandler signals({{SIGINT, Request::kStop}, {SIGTERM, Request::kStop}});
  server.Run([&](const HttpRequest& request) { return dash.Answer(request); },
             [&] { return signals.Poll() != Request::kNone; });
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "dash",
                {"serves a web page that shows the progress of runs, here or through ssh",
                 {"runs", "bind", "token"},
                 {},
                 "",
                 "doppio dash --runs=runs",
                 &RunDash});

}  // namespace
}  // namespace doppio
