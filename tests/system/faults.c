/* A disk and a clock that fail, for programs that are started with LD_PRELOAD=faults.so.
 *
 * Below the folder FAULTS_ROOT a call of the kinds in FAULTS_KINDS (letters, see below) fails with
 * probability FAULTS_RATE, a call in a million: "2000" is one in 500. Draws are a function of
 * FAULTS_SEED, the process and the number of the call. Each fault adds a line "KIND CALL" to the file
 * FAULTS_LOG.
 *
 *   d  the disk is full: write and pwrite write a part of the bytes, or nothing (ENOSPC); a new file
 *      is refused
 *   e  the disk is broken: fsync and fdatasync say EIO
 *   r  a rename or link takes 10 to 300 ms, as on a network's file system
 *   l  a rename or link is made, but its answer is lost: EIO
 *   s  a slow disk: open and fsync take 10 to 100 ms
 *   c  the clock of the day jumps by up to two hours either way, and stays there
 *   i  a signal interrupts a write: EINTR
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *root, *kinds, *log_path;
static uint64_t rate, seed, calls;
static int64_t clock_offset; /* seconds */

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

__attribute__((constructor)) static void start(void) {
  root = getenv("FAULTS_ROOT");
  kinds = getenv("FAULTS_KINDS");
  log_path = getenv("FAULTS_LOG");
  const char *text = getenv("FAULTS_RATE");
  rate = text ? strtoull(text, NULL, 10) : 0;
  text = getenv("FAULTS_SEED");
  seed = text ? strtoull(text, NULL, 10) : 0;
}

/* SplitMix64. */
static uint64_t draw(void) {
  const uint64_t number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  uint64_t z = seed + ((uint64_t)getpid() << 32) + 0x9e3779b97f4a7c15u * number;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Whether this call is to have a fault of the kind; says so in the log. Without the C library's
 * open and write, which are ours. */
static int strikes(char kind, const char *call, uint64_t *drawn) {
  if (!root || !kinds || !strchr(kinds, kind)) return 0;
  *drawn = draw();
  if (*drawn % 1000000 >= rate) return 0;
  *drawn /= 1000000;
  if (log_path) {
    const int before = errno;
    char line[64];
    const int length = snprintf(line, sizeof line, "%c %s\n", kind, call);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (fd >= 0) {
      syscall(SYS_write, fd, line, (size_t)length);
      syscall(SYS_close, fd);
    }
    errno = before;
  }
  return 1;
}

static void wait_ms(uint64_t ms) {
  const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
  syscall(SYS_nanosleep, &time, NULL);
}

static int is_below(const char *path) { return root && strncmp(path, root, strlen(root)) == 0; }

static int fd_is_below(int fd) {
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

static int at_is_below(int folder, const char *path) {
  return path[0] == '/' ? is_below(path) : folder == AT_FDCWD ? 0 : fd_is_below(folder);
}

ssize_t write(int fd, const void *data, size_t bytes) {
  uint64_t drawn;
  if (root && fd > 2 && bytes > 0 && fd_is_below(fd)) {
    if (strikes('i', "write", &drawn)) {
      errno = EINTR;
      return -1;
    }
    if (strikes('d', "write", &drawn)) {
      if (drawn % 2 && bytes > 1) return REAL(write)(fd, data, 1 + drawn / 2 % (bytes - 1));
      errno = ENOSPC;
      return -1;
    }
  }
  return REAL(write)(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
  uint64_t drawn;
  if (root && bytes > 0 && fd_is_below(fd) && strikes('d', "pwrite", &drawn)) {
    errno = ENOSPC;
    return -1;
  }
  return REAL(pwrite)(fd, data, bytes, at);
}

static int sync_fault(int fd, const char *call) {
  uint64_t drawn;
  if (!root || !fd_is_below(fd)) return 0;
  if (strikes('s', call, &drawn)) wait_ms(10 + drawn % 91);
  if (!strikes('e', call, &drawn)) return 0;
  errno = EIO;
  return -1;
}

int fsync(int fd) { return sync_fault(fd, "fsync") ? -1 : REAL(fsync)(fd); }

int fdatasync(int fd) { return sync_fault(fd, "fdatasync") ? -1 : REAL(fdatasync)(fd); }

static int open_fault(int folder, const char *path, int flags) {
  uint64_t drawn;
  if (!root || !at_is_below(folder, path)) return 0;
  if (strikes('s', "open", &drawn)) wait_ms(10 + drawn % 91);
  if (!(flags & O_CREAT) || !strikes('d', "open", &drawn)) return 0;
  errno = ENOSPC;
  return -1;
}

static mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(arguments, int) : 0;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_fault(AT_FDCWD, path, flags) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_fault(folder, path, flags) ? -1 : REAL(openat)(folder, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
  uint64_t drawn;
  if (is_below(path) && strikes('d', "mkdir", &drawn)) {
    errno = ENOSPC;
    return -1;
  }
  return REAL(mkdir)(path, mode);
}

/* What a call that moves a name returns, from what it did. */
static int name_fault(const char *call, int result) {
  uint64_t drawn;
  if (result != 0 || !strikes('l', call, &drawn)) return result;
  errno = EIO;
  return -1;
}

static void delay_name(const char *call) {
  uint64_t drawn;
  if (strikes('r', call, &drawn)) wait_ms(10 + drawn % 291);
}

int rename(const char *from, const char *to) {
  if (!is_below(to)) return REAL(rename)(from, to);
  delay_name("rename");
  return name_fault("rename", REAL(rename)(from, to));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  if (!at_is_below(to_folder, to)) return REAL(renameat)(from_folder, from, to_folder, to);
  delay_name("renameat");
  return name_fault("renameat", REAL(renameat)(from_folder, from, to_folder, to));
}

int link(const char *from, const char *to) {
  if (!is_below(to)) return REAL(link)(from, to);
  delay_name("link");
  return name_fault("link", REAL(link)(from, to));
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  uint64_t drawn;
  if (strikes('c', "clock_gettime", &drawn)) clock_offset = (int64_t)(drawn % 14401) - 7200;
  now->tv_sec += clock_offset;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
