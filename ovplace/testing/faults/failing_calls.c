/* Lets the n-th call that changes a file fail: preloaded, it stands before the C library of the process.
 *
 * FAIL_UNDER  only files whose path begins so count
 * FAIL_AT     number of the call that fails, from 1; 0 for none
 * FAIL_ERRNO  how
 * FAIL_ALL    1 if all later ones fail, too, as on a full disk
 * FAIL_LOG    file that gets a line for each call: its name and the path
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int count;

static void note(const char *call, const char *path) {
    const char *log = getenv("FAIL_LOG");
    char line[4400];
    if (!log) return;
    int size = snprintf(line, sizeof line, "%s %s\n", call, path);
    int file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0) return;
    syscall(SYS_write, file, line, (size_t)size);
    syscall(SYS_close, file);
}

static int path_fails(const char *call, const char *path) {
    const char *under = getenv("FAIL_UNDER"), *at = getenv("FAIL_AT"), *all = getenv("FAIL_ALL");
    if (!under || !at || strncmp(path, under, strlen(under))) return 0;
    int number = __sync_add_and_fetch(&count, 1), wanted = atoi(at);
    note(call, path);
    if (!wanted || number < wanted || (number > wanted && (!all || *all != '1'))) return 0;
    errno = atoi(getenv("FAIL_ERRNO"));
    return 1;
}

static int file_fails(const char *call, int file) {
    char link[64], path[4096];
    if (!getenv("FAIL_UNDER")) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return path_fails(call, path);
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define ON_FILE(type, name, parameters, arguments, ...)                  \
    type name parameters {                                               \
        if (file_fails(#name, file)) return -1;                          \
        return REAL(type, name, __VA_ARGS__) arguments;                  \
    }

ON_FILE(ssize_t, write, (int file, const void *data, size_t size), (file, data, size), int, const void *, size_t)
ON_FILE(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at), int, const void *,
        size_t, off_t)
ON_FILE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at), int,
        const void *, size_t, off64_t)
ON_FILE(ssize_t, writev, (int file, const struct iovec *data, int size), (file, data, size), int, const struct iovec *,
        int)
ON_FILE(int, fsync, (int file), (file), int)
ON_FILE(int, fdatasync, (int file), (file), int)
ON_FILE(int, ftruncate, (int file, off_t size), (file, size), int, off_t)
ON_FILE(int, ftruncate64, (int file, off64_t size), (file, size), int, off64_t)

int rename(const char *from, const char *to) {
    if (path_fails("rename", to)) return -1;
    return REAL(int, rename, const char *, const char *)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    if (path_fails("mkdir", path)) return -1;
    return REAL(int, mkdir, const char *, mode_t)(path, mode);
}

#define ON_CREATION(name)                                                                   \
    int name(const char *path, int flags, ...) {                                            \
        va_list rest;                                                                       \
        va_start(rest, flags);                                                              \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;             \
        va_end(rest);                                                                       \
        if (flags & O_CREAT && path_fails("create", path)) return -1;                       \
        return REAL(int, name, const char *, int, ...)(path, flags, mode);                  \
    }

ON_CREATION(open)
ON_CREATION(open64)
