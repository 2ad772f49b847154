// Tests HTTP requests, addresses, and access to the dashboard.
#include "tools/pages/http_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/mistake.h"
#include "tools/pages/dash_server.h"

namespace doppio {
namespace {

TEST(BindAddress, KnowsWhatOnlyThisMachineReaches) {
  for (const char* text : {"127.0.0.1:8090", "127.9.9.9:1", "[::1]:65535", "localhost:0"}) {
    EXPECT_TRUE(ParseBindAddress("bind", text).loopback) << text;
  }
  for (const char* text : {"0.0.0.0:8090", "192.168.1.2:8090", "[::]:8090"}) {
    EXPECT_FALSE(ParseBindAddress("bind", text).loopback) << text;
  }
  EXPECT_EQ(8090, ParseBindAddress("bind", "[::1]:8090").port);
  EXPECT_EQ("::1", ParseBindAddress("bind", "[::1]:8090").host);
}

TEST(BindAddress, RefusesWhatIsNone) {
  for (const char* text : {"", "8090", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "::1:8090", "name:80"}) {
    const std::string mistake = Mistake<UsageError>([&] { ParseBindAddress("bind", text); });
    EXPECT_NE(std::string::npos, mistake.find("--bind needs an address and a port")) << text;
  }
}

TEST(HttpRequest, IsReadWithItsQueryAndCookies) {
  const auto request = ParseHttpRequest(
      "GET /api/run?name=sweep%2Ft%20001&x=a+b HTTP/1.1\r\nHost: x\r\nCOOKIE: a=1; "
      "doppio_80=secret;b=2\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ("/api/run", request->path);
  EXPECT_EQ("sweep/t 001", request->query.at("name"));
  EXPECT_EQ("a b", request->query.at("x"));
  EXPECT_EQ("secret", request->Cookie("doppio_80"));
  EXPECT_EQ("", request->Cookie("doppio"));
}

TEST(HttpRequest, IsNothingElseThanAGet) {
  for (const char* head : {"", "POST / HTTP/1.1\r\n", "GET /\r\n", "GET x HTTP/1.1\r\n",
                           "GET / FTP/1\r\n", "GET / x HTTP/1.1\r\n"}) {
    EXPECT_FALSE(ParseHttpRequest(head)) << head;
  }
}

// A client that sends single bytes slowly must not keep its connection forever.
TEST(HttpServer, ClosesAConnectionWhoseRequestIsNotWholeInTime) {
  HttpServer server(ParseBindAddress("bind", "127.0.0.1:0"), 0.5);
  std::atomic<bool> stopped{false};
  std::thread thread([&] {
    server.Run([](const HttpRequest&) { return HttpResponse(); }, [&] { return stopped.load(); });
  });
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(server.port()));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  bool closed = false;
  for (int i = 0; i < 600 && !closed; ++i) {  // for a minute of real time, as the server's limit
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    char byte;
    closed = send(client, "G", 1, MSG_NOSIGNAL) < 0 || recv(client, &byte, 1, MSG_DONTWAIT) == 0;
  }
  stopped = true;
  thread.join();
  close(client);
  EXPECT_TRUE(closed);
}

// More clients than the server keeps connect and send nothing.
TEST(HttpServer, AnswersBesideSilentClients) {
  HttpServer server(ParseBindAddress("bind", "127.0.0.1:0"), 600);
  std::atomic<bool> stopped{false};
  std::thread thread([&] {
    server.Run([](const HttpRequest&) { return HttpResponse(); }, [&] { return stopped.load(); });
  });
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(server.port()));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> clients;
  for (int i = 0; i < 70; ++i) {
    clients.push_back(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(clients.back(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  }
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_GT(send(clients.back(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  char answer[12];
  EXPECT_EQ(recv(clients.back(), answer, sizeof answer, MSG_WAITALL), 12);
  EXPECT_EQ(std::string(answer, sizeof answer), "HTTP/1.1 200");
  stopped = true;
  thread.join();
  for (const int client : clients) close(client);
}

class DashServerTest : public testing::Test {
 protected:
  int StatusOf(const std::string& target, const std::string& cookie = "doppio=secret-token") {
    const auto request =
        ParseHttpRequest("GET " + target + " HTTP/1.1\r\nCookie: " + cookie + "\r\n");
    return request ? dash_.Answer(*request).status : 400;
  }
  DashServer dash_{testing::TempDir(), "secret-token", "doppio"};
};

TEST_F(DashServerTest, WantsTheTokenForEverything) {
  for (const char* path : {"/", "/api/runs", "/api/run?name=a", "/nothing", "/?token=secret-tokem",
                           "/api/runs?token=secret-token"}) {
    EXPECT_EQ(403, StatusOf(path, "doppio=secret-tokex")) << path;
    EXPECT_EQ(403, StatusOf(path, "")) << path;
  }
}

TEST_F(DashServerTest, PutsTheTokenOfTheAddressIntoACookie) {
  const HttpResponse response =
      dash_.Answer(*ParseHttpRequest("GET /?token=secret-token HTTP/1.1\r\n"));
  EXPECT_EQ(303, response.status);
  bool cookie = false;
  for (const auto& [name, value] : response.headers) {
    cookie = cookie || (name == "Set-Cookie" &&
                        value == "doppio=secret-token; Path=/; HttpOnly; SameSite=Lax");
  }
  EXPECT_TRUE(cookie);
  EXPECT_EQ(200, StatusOf("/"));
}

TEST_F(DashServerTest, RunsOnlyTheScriptThatItSends) {
  std::set<std::string> nonces;
  for (int i = 0; i < 2; ++i) {
    const HttpResponse page =
        dash_.Answer(*ParseHttpRequest("GET / HTTP/1.1\r\nCookie: doppio=secret-token\r\n"));
    std::string policy;
    for (const auto& [name, value] : page.headers) {
      if (name == "Content-Security-Policy") policy = value;
    }
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
    const size_t at = policy.find("script-src 'nonce-");
    ASSERT_NE(at, std::string::npos) << policy;
    const std::string nonce = policy.substr(at + 18, 32);
    EXPECT_NE(policy.find("style-src 'nonce-" + nonce + "'"), std::string::npos) << policy;
    EXPECT_NE(page.body.find("<script nonce=\"" + nonce + "\">\n"), std::string::npos);
    EXPECT_NE(page.body.find("<style nonce=\"" + nonce + "\">\n"), std::string::npos);
    // A nonce does not admit inline attributes, so the page must have none.
    for (const char* inside : {" style=", " onclick=", "javascript:", "setAttribute(\"style"}) {
      EXPECT_EQ(page.body.find(inside), std::string::npos) << inside;
    }
    nonces.insert(nonce);
  }
  EXPECT_EQ(nonces.size(), 2u);
}

TEST_F(DashServerTest, KnowsOnlyRunsOfItsList) {
  EXPECT_EQ(200, StatusOf("/api/runs"));
  for (const char* name : {"", "../x", "..%2F..%2Fetc%2Fpasswd", "/etc", "."}) {
    EXPECT_EQ(404, StatusOf(std::string("/api/run?name=") + name)) << name;
  }
  EXPECT_EQ(404, StatusOf("/../../etc/passwd"));
}

TEST(Tokens, AreNewEachTimeAndComparedWhole) {
  EXPECT_EQ(32u, RandomToken().size());
  EXPECT_NE(RandomToken(), RandomToken());
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "ab"));
  EXPECT_FALSE(SameSecret("", "a"));
}

}  // namespace
}  // namespace doppio
