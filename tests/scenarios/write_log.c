/* Preloaded with LD_PRELOAD, logs to $WRITE_LOG what a program and its children do to files below $WRITE_LOG_ROOT, so that
   a test can compute what a power failure leaves. A record is a line "KIND INODE OFFSET LENGTH PATH", for a rename followed
   by a tab and the new path, and then LENGTH bytes. Kinds: C create, W write, T truncate to OFFSET, S fsync, D fsync of a folder, R rename,
   U unlink, M mkdir. Records only the calls that Doppio and its libraries make, not writes through stdio. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int IsInside(const char* path) {
  const char* root = getenv("WRITE_LOG_ROOT");
  return root != NULL && strncmp(path, root, strlen(root)) == 0;
}

/* Sets `to` to the absolute path of a file that need not exist, with the links in its folder resolved. */
static int Absolute(const char* path, char* to) {
  char folder[PATH_MAX], real[PATH_MAX];
  const char* slash = strrchr(path, '/');
  const char* name = slash == NULL ? path : slash + 1;
  snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1), slash == NULL ? "." : path);
  if (realpath(folder, real) == NULL) return 0;
  return snprintf(to, PATH_MAX, "%s/%s", real, name) < PATH_MAX && IsInside(to);
}

static int PathOf(int fd, char* to) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, to, PATH_MAX - 1);
  if (length <= 0) return 0;
  to[length] = '\0';
  return IsInside(to);
}

static unsigned long InodeOf(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? (unsigned long)info.st_ino : 0;
}

static void Note(char kind, unsigned long inode, long offset, const void* data, size_t length, const char* path) {
  const int error = errno;
  const size_t room = length + 2 * PATH_MAX + 100;
  char* record = malloc(room);
  const int head = snprintf(record, room, "%c %lu %ld %zu %s\n", kind, inode, offset, length, path);
  if (length > 0) memcpy(record + head, data, length);
  const int log = REAL(open)(getenv("WRITE_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (REAL(write)(log, record, head + length) != (ssize_t)(head + length)) abort();
  REAL(close)(log);
  free(record);
  errno = error;
}

static int Open(const char* name, const char* path, int flags, mode_t mode) {
  char full[PATH_MAX];
  struct stat info;
  const int inside = (flags & O_ACCMODE) != O_RDONLY && Absolute(path, full);
  const int existed = inside && stat(full, &info) == 0;
  const int fd = ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, name))(path, flags, mode);
  if (!inside || fd < 0) return fd;
  if (!existed) Note('C', InodeOf(fd), 0, NULL, 0, full);
  if (existed && (flags & O_TRUNC)) Note('T', InodeOf(fd), 0, NULL, 0, full);
  return fd;
}

#define OPEN(name)                                  \
  int name(const char* path, int flags, ...) {      \
    va_list more;                                   \
    va_start(more, flags);                          \
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0; \
    va_end(more);                                   \
    return Open(#name, path, flags, mode);          \
  }
OPEN(open)
OPEN(open64)

static void NoteWrite(int fd, const void* data, ssize_t length, off_t offset) {
  char path[PATH_MAX];
  if (length > 0 && PathOf(fd, path)) Note('W', InodeOf(fd), offset, data, (size_t)length, path);
}

/* Returns the offset at which a write of `length` bytes began that ended at the file's current offset. */
static off_t Begin(int fd, ssize_t length) { return lseek(fd, 0, SEEK_CUR) - (length > 0 ? length : 0); }

ssize_t write(int fd, const void* data, size_t bytes) {
  const ssize_t length = REAL(write)(fd, data, bytes);
  NoteWrite(fd, data, length, Begin(fd, length));
  return length;
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  ssize_t all = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t length = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (length < 0) return all > 0 ? all : length;
    all += length;
  }
  return all;
}

#define PWRITE(name)                                                            \
  ssize_t name(int fd, const void* data, size_t bytes, off_t offset) {          \
    const ssize_t length = REAL(name)(fd, data, bytes, offset);                 \
    NoteWrite(fd, data, length, offset);                                        \
    return length;                                                              \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

#define FTRUNCATE(name)                                                         \
  int name(int fd, off_t size) {                                                \
    char path[PATH_MAX];                                                        \
    const int result = REAL(name)(fd, size);                                    \
    if (result == 0 && PathOf(fd, path)) Note('T', InodeOf(fd), size, NULL, 0, path); \
    return result;                                                              \
  }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

#define SYNC(name)                                                              \
  int name(int fd) {                                                            \
    char path[PATH_MAX];                                                        \
    struct stat info;                                                           \
    const int result = REAL(name)(fd);                                          \
    if (result == 0 && PathOf(fd, path) && fstat(fd, &info) == 0)               \
      Note(S_ISDIR(info.st_mode) ? 'D' : 'S', info.st_ino, 0, NULL, 0, path);   \
    return result;                                                              \
  }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char* from, const char* to) {
  char full[PATH_MAX], both[2 * PATH_MAX], target[PATH_MAX];
  const int inside = Absolute(from, full) && Absolute(to, target);
  const int result = REAL(rename)(from, to);
  if (result == 0 && inside) {
    snprintf(both, sizeof both, "%s\t%s", full, target);
    Note('R', 0, 0, NULL, 0, both);
  }
  return result;
}

#define REMOVE(name)                                                            \
  int name(const char* path) {                                                  \
    char full[PATH_MAX];                                                        \
    const int inside = Absolute(path, full);                                    \
    const int result = REAL(name)(path);                                        \
    if (result == 0 && inside) Note('U', 0, 0, NULL, 0, full);                  \
    return result;                                                              \
  }
REMOVE(unlink)
REMOVE(remove)

int mkdir(const char* path, mode_t mode) {
  char full[PATH_MAX];
  const int inside = Absolute(path, full);
  const int result = REAL(mkdir)(path, mode);
  if (result == 0 && inside) Note('M', 0, 0, NULL, 0, full);
  return result;
}
