// What `dash` answers: its page, the list of runs, one run. Everything wants the token, in the
// address at first and in a cookie from then on.
#ifndef DOPPIO_TOOLS_PAGES_DASH_SERVER_H_
#define DOPPIO_TOOLS_PAGES_DASH_SERVER_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/pages/http_server.h"

namespace doppio {

// 32 hexadecimal digits that nobody can guess.
std::string RandomToken();
// Takes as long for any two texts of the same length, so that nobody learns how much of a guess was
// right.
bool SameSecret(const std::string& a, const std::string& b);

class DashServer {
 public:
  // Shows the runs that FindRuns finds in `folder`. `cookie` names the cookie: those of several
  // ports share a host.
  DashServer(std::string folder, std::string token, std::string cookie);

  // GET /: the page. /api/runs: {"runs": [{"name", "status", "net", "host", "started", "seconds",
  // "images_per_s", "iter", "max_iter", "mark"}]}, the newest first; "mark" changes with the run.
  // /api/run?name=NAME[&points=few]: ViewRun (tools/runs/run_view.h), with 20 points a curve or
  // 1000. 403 without the token, 404 for other paths and
  // for a name that is not in the list.
  HttpResponse Answer(const HttpRequest& request);

 private:
  struct Row {
    std::string files;     // when and how large they were
    nlohmann::json brief;  // as in the list
  };

  // Paths by names, which are relative to the folder.
  std::map<std::string, std::string> Folders() const;
  HttpResponse Page() const;
  HttpResponse List();
  HttpResponse Run(const HttpRequest& request) const;

  std::string folder_, token_, cookie_;
  std::map<std::string, Row> rows_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_DASH_SERVER_H_
