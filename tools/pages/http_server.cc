#include "tools/pages/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text/percent.h"

namespace doppio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRequestBytes = 16384;  // per request head
constexpr size_t kMostConnections = 64;
constexpr int kAskMs = 200;  // between two calls of `stopped`

std::string Decode(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return PercentDecoded(text);
}

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    default:
      return "Internal Server Error";
  }
}

std::string ToText(const HttpResponse& response) {
  std::ostringstream text;
  text << "HTTP/1.1 " << response.status << ' ' << Reason(response.status)
       << "\r\nContent-Type: " << response.type << "\r\nContent-Length: " << response.body.size()
       << "\r\nConnection: close\r\n";
  for (const auto& [name, value] : response.headers) text << name << ": " << value << "\r\n";
  text << "\r\n" << response.body;
  return text.str();
}

HttpResponse Answer(const std::string& head, const HttpServer::Handler& handler) {
  const std::optional<HttpRequest> request = ParseHttpRequest(head);
  if (!request) return {400, "text/plain; charset=utf-8", "only GET is answered here\n"};
  try {
    return handler(*request);
  } catch (const std::exception& error) {
    return {500, "text/plain; charset=utf-8", error.what() + std::string("\n")};
  }
}

// One client connection: receives a request, sends the answer, and closes.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}

  pollfd Waits() const {
    return {socket_.get(), static_cast<short>(answered_ ? POLLOUT : POLLIN), 0};
  }
  // A slow sender does not extend its deadline by sending single bytes; otherwise a few clients
  // could hold all connections.
  bool Expired(Clock::time_point now, double patience_s) const {
    return std::chrono::duration<double>(now - active_).count() > patience_s;
  }

  // Returns true if the client has not yet sent a whole request.
  bool Silent() const { return !answered_; }

  // Receives or sends what is possible without blocking. Returns false if the connection is done.
  bool ReceiveOrSend(const HttpServer::Handler& handler) {
    return answered_ ? Send() : Receive(handler);
  }

 private:
  bool Receive(const HttpServer::Handler& handler) {
    char bytes[4096];
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    input_.append(bytes, got);
    const size_t end = input_.find("\r\n\r\n");
    if (end == std::string::npos) return input_.size() <= kMostRequestBytes;
    output_ = ToText(Answer(input_.substr(0, end + 2), handler));
    answered_ = true;
    active_ = Clock::now();
    return Send();
  }

  bool Send() {
    while (sent_ < output_.size()) {
      const ssize_t sent =
          send(socket_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      active_ = Clock::now();
      sent_ += static_cast<size_t>(sent);
    }
    return false;
  }

  UniqueFd socket_;
  std::string input_, output_;
  size_t sent_ = 0;
  bool answered_ = false;
  Clock::time_point active_ =
      Clock::now();  // time at which the client connected or last read a part of its answer
};

}  // namespace

std::string HttpRequest::Cookie(const std::string& name) const {
  const auto found = headers.find("cookie");
  if (found == headers.end()) return "";
  std::istringstream cookies(found->second);
  for (std::string cookie; std::getline(cookies, cookie, ';');) {
    cookie = Trim(cookie);
    if (cookie.compare(0, name.size() + 1, name + "=") == 0) return cookie.substr(name.size() + 1);
  }
  return "";
}

std::optional<HttpRequest> ParseHttpRequest(const std::string& head) {
  std::istringstream lines(head);
  std::string line;
  if (!std::getline(lines, line)) return std::nullopt;
  std::istringstream words(line);
  std::string method, target, version, more;
  if (!(words >> method >> target >> version) || (words >> more)) return std::nullopt;
  if (method != "GET" || version.compare(0, 7, "HTTP/1.") != 0 || target[0] != '/')
    return std::nullopt;
  HttpRequest request;
  const size_t mark = target.find('?');
  request.path = Decode(target.substr(0, mark));
  if (mark != std::string::npos) {
    std::istringstream pairs(target.substr(mark + 1));
    for (std::string pair; std::getline(pairs, pair, '&');) {
      const size_t equals = pair.find('=');
      const std::string value = equals == std::string::npos ? "" : pair.substr(equals + 1);
      request.query[Decode(pair.substr(0, equals))] = Decode(value);
    }
  }
  while (std::getline(lines, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers[name] = Trim(line.substr(colon + 1));
  }
  return request;
}

HttpServer::HttpServer(const BindAddress& address, double patience_s) : patience_s_(patience_s) {
  sockaddr_storage place = {};
  socklen_t size = address.ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (address.ipv6) {
    auto* six = reinterpret_cast<sockaddr_in6*>(&place);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(address.port);
    inet_pton(AF_INET6, address.host.c_str(), &six->sin6_addr);
  } else {
    auto* four = reinterpret_cast<sockaddr_in*>(&place);
    four->sin_family = AF_INET;
    four->sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &four->sin_addr);
  }
  listener_ = UniqueFd(socket(place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (listener_.open()) setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!listener_.open() || bind(listener_.get(), reinterpret_cast<sockaddr*>(&place), size) != 0 ||
      listen(listener_.get(), 64) != 0) {
    const int error = errno;
    throw FileError("cannot listen on ", address.host, " port ", address.port, ": ",
                    std::strerror(error),
                    error == EADDRINUSE ? " (another --bind, or port 0 for any that is free)" : "");
  }
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&place), &size);
  port_ = ntohs(address.ipv6 ? reinterpret_cast<sockaddr_in6*>(&place)->sin6_port
                             : reinterpret_cast<sockaddr_in*>(&place)->sin_port);
}

void HttpServer::Run(const Handler& handler, const std::function<bool()>& stopped) {
  std::list<Connection> connections;
  // The oldest silent client makes room for a new one, so that silent clients hold no connections.
  const auto oldest_silent = [&] {
    return std::find_if(connections.begin(), connections.end(),
                        [](const Connection& one) { return one.Silent(); });
  };
  const auto full = [&] {
    return connections.size() >= kMostConnections && oldest_silent() == connections.end();
  };
  while (!stopped()) {
    std::vector<pollfd> waits = {{listener_.get(), POLLIN, 0}};
    if (full()) waits[0].events = 0;
    for (const Connection& connection : connections) waits.push_back(connection.Waits());
    if (poll(waits.data(), waits.size(), kAskMs) < 0) {
      if (errno == EINTR) continue;
      throw FileError("cannot wait for requests: ", std::strerror(errno));
    }
    const Clock::time_point now = Clock::now();
    size_t i = 1;
    for (auto connection = connections.begin(); connection != connections.end(); ++i) {
      const bool on = !connection->Expired(now, patience_s_) &&
                      (waits[i].revents == 0 || connection->ReceiveOrSend(handler));
      connection = on ? std::next(connection) : connections.erase(connection);
    }
    if (waits[0].revents == 0 || full()) continue;
    const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) continue;
    if (connections.size() >= kMostConnections) connections.erase(oldest_silent());
    connections.emplace_back(socket);
  }
}

}  // namespace doppio
