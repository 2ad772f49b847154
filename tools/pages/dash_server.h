// The request handler of `dash`: serves its page, the list of runs, and the data of one run. Every
// request needs the token, first as a query parameter and afterwards in a cookie.
#ifndef DOPPIO_TOOLS_PAGES_DASH_SERVER_H_
#define DOPPIO_TOOLS_PAGES_DASH_SERVER_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/pages/http_server.h"

namespace doppio {

// Returns 32 random hexadecimal digits from std::random_device.
std::string RandomToken();
// Compares two strings in constant time for a given length, so that response times do not reveal
// how much of a guess is right.
bool SameSecret(const std::string& a, const std::string& b);

// Not thread-safe.
class DashServer {
 public:
  // Serves the runs that FindRuns finds in `folder`. `cookie` is the cookie's name; it must differ
  // between servers on different ports of one host, because those share cookies.
  DashServer(std::string folder, std::string token, std::string cookie);

  // Answers a GET request:
  //   /                                the page
  //   /api/runs                        {"runs": [{"name", "status", "net", "host", "started",
  //                                    "seconds", "images_per_s", "iter", "max_iter", "mark"}]},
  //                                    newest first; "mark" changes whenever the run does
  //   /api/run?name=NAME[&points=few]  ViewRun (tools/runs/run_view.h) with at most 1000 points per
  //                                    curve, or 20 with points=few
  // Returns status 403 without the token, and 404 for other paths and unknown run names.
  HttpResponse Answer(const HttpRequest& request);

 private:
  struct Row {
    std::string files;     // sizes and modification times of the run's files
    nlohmann::json brief;  // the run's entry in /api/runs
  };

  // Maps the name of each run, which is its path relative to `folder_`, to its folder.
  std::map<std::string, std::string> Folders() const;
  HttpResponse Page() const;
  HttpResponse List();
  HttpResponse Run(const HttpRequest& request) const;

  std::string folder_, token_, cookie_;
  // Maps a run's name to its row in the last list, which is reused while the run's files do not
  // change.
  std::map<std::string, Row> rows_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_DASH_SERVER_H_
