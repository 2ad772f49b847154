// A small web server for pages that are read through a tunnel or on this machine: GET only, one
// thread, one request a connection. No TLS: what is to be reached from outside goes through ssh.
#ifndef DOPPIO_TOOLS_PAGES_HTTP_SERVER_H_
#define DOPPIO_TOOLS_PAGES_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/pages/bind_address.h"

namespace doppio {

struct HttpRequest {
  std::string path;                            // decoded: "/api/run"
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  // "" where there is none of that name.
  std::string Cookie(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Of the lines before the empty one. Nothing for what is no GET request of HTTP 1.
std::optional<HttpRequest> ParseHttpRequest(const std::string& head);

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Listens from here on. FileError where the port is taken or the address is none of this machine.
  // `patience_s`: seconds in which a request must be whole, and in which a client must take some of
  // its answer.
  explicit HttpServer(const BindAddress& address, double patience_s = 20);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  // Answers requests until `stopped`, which is asked several times a second, says so. An exception
  // of the handler is answered with 500 and its text.
  void Run(const Handler& handler, const std::function<bool()>& stopped);

 private:
  const double patience_s_;
  int listener_ = -1;
  int port_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_HTTP_SERVER_H_
