#include "tools/pages/dash_server.h"

#include <sys/stat.h>

#include <algorithm>
#include <random>

#include "core/base/error.h"
#include "tools/cli/json_text.h"
#include "tools/pages/web_page.h"
#include "tools/runs/metrics.h"
#include "tools/runs/run_view.h"

namespace doppio {
namespace {

using nlohmann::json;

constexpr size_t kPoints = 1000;  // per curve; all are sent again whenever the run has changed
// Per curve that is not drawn; only its last and best values are shown.
constexpr size_t kFewPoints = 20;

const char* const kJson = "application/json";

// Returns a text that changes whenever a file of the run changes.
std::string FilesMark(const std::string& folder) {
  std::string mark;
  for (const char* name : {"/run.json", "/metrics.jsonl", "/exit.json"}) {
    struct stat now = {};
    if (stat((folder + name).c_str(), &now) != 0) continue;
    mark += StrCat(now.st_size, '.', now.st_mtim.tv_sec, '.', now.st_mtim.tv_nsec, ' ');
  }
  return mark;
}

}  // namespace

std::string RandomToken() {
  std::random_device random;
  std::string token;
  while (token.size() < 32) token += "0123456789abcdef"[random() & 15];
  return token;
}

bool SameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char differ = 0;
  for (size_t i = 0; i < a.size(); ++i) differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  return differ == 0;
}

DashServer::DashServer(std::string folder, std::string token, std::string cookie)
    : folder_(std::move(folder)), token_(std::move(token)), cookie_(std::move(cookie)) {}

std::map<std::string, std::string> DashServer::Folders() const {
  std::map<std::string, std::string> folders;
  for (const FoundRun& run : FindRuns(folder_)) folders[run.name] = run.folder;
  return folders;
}

HttpResponse DashServer::Answer(const HttpRequest& request) {
  HttpResponse response;
  const auto token = request.query.find("token");
  if (request.path == "/" && token != request.query.end() && SameSecret(token->second, token_)) {
    // Moves the token from the address, which histories and proxies record, into a cookie.
    response = {303, "text/plain; charset=utf-8", "", {{"Location", "/"}}};
    response.headers.emplace_back("Set-Cookie",
                                  cookie_ + "=" + token_ + "; Path=/; HttpOnly; SameSite=Lax");
  } else if (!SameSecret(request.Cookie(cookie_), token_)) {
    response = {403, "text/plain; charset=utf-8",
                "open the address that doppio dash has printed: it holds the token\n"};
  } else if (request.path == "/") {
    response = Page();
  } else if (request.path == "/api/runs") {
    response = List();
  } else if (request.path == "/api/run") {
    response = Run(request);
  } else {
    response = {404, "text/plain; charset=utf-8", "there is no such page\n"};
  }
  for (const auto& [name, value] : {std::pair("Cache-Control", "no-store"),
                                    {"Referrer-Policy", "no-referrer"},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"X-Frame-Options", "DENY"}}) {
    response.headers.emplace_back(name, value);
  }
  return response;
}

HttpResponse DashServer::Page() const {
  const std::string title = "Runs in " + folder_;
  const std::string nonce =
      RandomToken();  // unguessable, so that injected scripts and styles are refused
  HttpResponse response{
      200, "text/html; charset=utf-8",
      MakePage(title, ReportScripts(), {{"live", true}, {"title", title}}, nonce)};
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce +
          "'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'");
  return response;
}

HttpResponse DashServer::List() {
  std::map<std::string, Row> rows;
  for (const auto& [name, folder] : Folders()) {
    const std::string files = FilesMark(folder);
    const auto known = rows_.find(name);
    // A run that dies changes no file, so a run with status "running" is read again every time.
    if (known != rows_.end() && known->second.files == files &&
        known->second.brief["status"] != "running") {
      rows[name] = known->second;
      continue;
    }
    try {
      json brief = ViewRun(ReadRunEnd(folder), name, 4);
      json row = {{"mark", files + brief["status"].get<std::string>()}};
      for (const char* key : {"name", "status", "net", "host", "started", "seconds", "images_per_s",
                              "iter", "max_iter"}) {
        row[key] = brief[key];
      }
      rows[name] = {files, std::move(row)};
    } catch (const FileError& error) {
      rows[name] = {
          files,
          {{"name", name}, {"status", "unreadable"}, {"error", error.what()}, {"mark", files}}};
    }
  }
  rows_ = std::move(rows);
  std::vector<json> list;
  for (const auto& [name, row] : rows_) list.push_back(row.brief);
  const auto started = [](const json& row) {
    const auto found = row.find("started");
    return found != row.end() && found->is_number() ? found->get<double>() : 0;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const json& a, const json& b) { return started(a) > started(b); });
  return {200, kJson, JsonText({{"runs", list}}, -1)};
}

HttpResponse DashServer::Run(const HttpRequest& request) const {
  const auto query = [&](const char* key) {
    const auto found = request.query.find(key);
    return found == request.query.end() ? std::string() : found->second;
  };
  // Looks the name up instead of making a path from it, so that no request reaches other folders.
  const std::map<std::string, std::string> folders = Folders();
  const auto found = folders.find(query("name"));
  if (found == folders.end()) return {404, "text/plain; charset=utf-8", "there is no such run\n"};
  const size_t points = query("points") == "few" ? kFewPoints : kPoints;
  return {200, kJson, JsonText(ViewRun(ReadRun(found->second), found->first, points), -1)};
}

}  // namespace doppio
