// A small single-threaded HTTP server for pages that are read on this machine or through a tunnel.
// It supports GET only, one request per connection, and no TLS: access from other machines goes
// through ssh.
#ifndef DOPPIO_TOOLS_PAGES_HTTP_SERVER_H_
#define DOPPIO_TOOLS_PAGES_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"
#include "tools/pages/bind_address.h"

namespace doppio {

struct HttpRequest {
  std::string path;                            // percent-decoded: "/api/run"
  std::map<std::string, std::string> query;    // percent-decoded
  std::map<std::string, std::string> headers;  // names in lower case
  // Returns the value of the cookie `name`, or "" if the request has no such cookie.
  std::string Cookie(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Parses a request's head, i.e. the lines before the first empty one. Returns nullopt unless it is
// a GET request of HTTP/1.x.
std::optional<HttpRequest> ParseHttpRequest(const std::string& head);

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Starts to listen. Throws FileError if the port is taken or the address does not belong to this
  // machine. `patience_s` limits, in seconds, the time in which a client must send its whole
  // request, and the time between two reads of its answer.
  explicit HttpServer(const BindAddress& address, double patience_s = 20);

  int port() const { return port_; }
  // Answers requests until `stopped`, which is called several times per second, returns true. If
  // the handler throws, the client gets status 500 with the exception's text.
  void Run(const Handler& handler, const std::function<bool()>& stopped);

 private:
  const double patience_s_;
  UniqueFd listener_;
  int port_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_HTTP_SERVER_H_
