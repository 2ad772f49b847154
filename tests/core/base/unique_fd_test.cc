#include "core/base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>

#include "core/base/file.h"

namespace doppio {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesItsFileOnce) {
  int fd = -1;
  {
    UniqueFd first(open("/dev/null", O_RDONLY));
    fd = first.get();
    UniqueFd second = std::move(first);
    EXPECT_FALSE(first.open());
    EXPECT_EQ(second.get(), fd);
    EXPECT_TRUE(IsOpen(fd));
    second = UniqueFd();
    EXPECT_FALSE(IsOpen(fd));
  }
  EXPECT_FALSE(UniqueFd().open());
}

TEST(WriteAll, WritesTheWholeText) {
  const std::string path = testing::TempDir() + "write_all";
  const std::string text(1 << 20, 'x');
  {
    const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    EXPECT_TRUE(WriteAll(file.get(), text));
  }
  EXPECT_EQ(ReadFile(path), text);
  std::remove(path.c_str());
  EXPECT_FALSE(WriteAll(-1, text));
}

}  // namespace
}  // namespace doppio
