#include "core/base/log.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <cctype>
#include <ctime>
#include <string>

#include "core/base/file.h"

namespace {

bool g_before_1970 = false;

}  // namespace

// Takes the place of the C library's function in this program. glog reads the time with it.
extern "C" int TimeOfDay(timeval* now, void* zone) noexcept __asm__("gettimeofday");
extern "C" int TimeOfDay(timeval* now, void* /*zone*/) noexcept {
  timespec machine{};
  clock_gettime(CLOCK_REALTIME, &machine);
  *now = g_before_1970 ? timeval{-6, 548372} : timeval{machine.tv_sec, machine.tv_nsec / 1000};
  return 0;
}

namespace doppio {
namespace {

TEST(LogFile, HasWholeTimesBefore1970) {
  const std::string path = testing::TempDir() + "/log_" + std::to_string(getpid());
  {
    const LogFile file(path);
    g_before_1970 = true;
    LOG(INFO) << "old";
    g_before_1970 = false;
  }
  const std::string text = ReadFile(path);
  std::string form = text.substr(0, text.find(' ', 6));
  for (char& c : form) c = std::isdigit(static_cast<unsigned char>(c)) != 0 ? '0' : c;
  EXPECT_EQ(form, "I0000 00:00:00.000000") << text;
}

}  // namespace
}  // namespace doppio
