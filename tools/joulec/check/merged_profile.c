/* tools/joulec/check/merged_profile.c - see merged_profile.h. */
#include "merged_profile.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/string.h"
#include "check.h"
#include "common/options.h"

/* Writes the first line that clang prints for an option to line[0..size). If clang cannot be run, prints a
 * message and returns false. */
static bool ask_clang(const char *clang, const char *option, char *line, size_t size)
{
    const char *words[] = {clang, option, NULL};
    struct order order = {.is_quiet = true};
    int fd = memfd_create("joulec-answer", MFD_CLOEXEC);
    int code = fd < 0 ? -1 : check_run_clang(&order, words, fd);
    ssize_t got = code == 0 ? pread(fd, line, size - 1, 0) : 0;
    if (fd >= 0)
        close(fd);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return code >= 0;
}

/* Finds llvm-profdata in clang's installation, else where clang searches for programs. Returns false after a
 * message. */
static bool find_profdata(const char *clang, char *path, size_t size)
{
    char folder[PATH_MAX];
    if (!ask_clang(clang, "-print-resource-dir", folder, sizeof folder))
        return false;
    string_print(path, size, "%s/../../../bin/llvm-profdata", folder); /* PREFIX/lib/clang/VERSION */
    if (access(path, X_OK) == 0)
        return true;
    if (!ask_clang(clang, "-print-prog-name=llvm-profdata", path, size))
        return false;
    if (path[0] == '/' && access(path, X_OK) == 0)
        return true;
    complain("",
             "cannot find llvm-profdata of the same version as %s, which --profile-use needs\nhint: install "
             "LLVM's tools (Debian: llvm)",
             clang);
    return false;
}

static bool is_readable(const char *file)
{
    if (access(file, R_OK) == 0)
        return true;
    complain("",
             "cannot read %s: %s\nhint: a program built with --profile-generate writes default.profraw, or "
             "the file that LLVM_PROFILE_FILE names",
             file, strerror(errno));
    return false;
}

int merged_profile_open(const struct arguments *arguments, char *path, size_t size)
{
    char program[2 * PATH_MAX];
    const char *file = arguments->profile;
    if (!is_readable(file) || !find_profdata(arguments->clang[0], program, sizeof program))
        return -1;
    const char *words[] = {program, "merge", "-o", "-", "--", file, NULL};
    struct order order = {.is_quiet = false};
    int fd = memfd_create("joulec-counts", MFD_CLOEXEC);
    int code = fd < 0 ? -1 : check_run_clang(&order, words, fd);
    if (code == 0) {
        string_print(path, size, "/proc/%d/fd/%d", (int)getpid(), fd);
        return fd;
    }
    complain("",
             "cannot use %s: not a profile of this version of clang\nhint: build with --profile-generate, "
             "run the program, and name the file that it writes",
             file);
    if (fd >= 0)
        close(fd);
    return -1;
}
