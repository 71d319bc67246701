/* tools/helper/listener.c - see listener.h. */
#include "helper/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"

#define FIRST_FD 3 /* first descriptor that systemd passes */

static bool has_option(int fd, int option, int expected)
{
    int value;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

joule_status listener_inherit(int *out_fd, joule_error *out_error)
{
    uint64_t pid = 0, count = 0;
    const char *for_pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    *out_fd = -1;
    if (!for_pid || !fds || !string_to_u64(for_pid, 10, &pid) || pid != (uint64_t)getpid())
        return JOULE_OK;
    if (!string_to_u64(fds, 10, &count) || count != 1)
        return error_set(out_error, JOULE_INVALID,
                         "systemd passed %s sockets; the unit must name exactly one", fds);
    if (!has_option(FIRST_FD, SO_ACCEPTCONN, 1) || !has_option(FIRST_FD, SO_DOMAIN, AF_UNIX) ||
        !has_option(FIRST_FD, SO_TYPE, SOCK_STREAM))
        return error_set(
            out_error, JOULE_INVALID,
            "systemd passed something other than a listening Unix socket; use ListenStream=/run/...");
    fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
    fcntl(FIRST_FD, F_SETFL, fcntl(FIRST_FD, F_GETFL) | O_NONBLOCK);
    *out_fd = FIRST_FD;
    return JOULE_OK;
}

static joule_status fail(joule_error *error, const char *what, const char *path)
{
    int errno_value = errno;
    return error_set(error, status_of_errno(errno_value), "cannot %s %s: %s", what, path,
                     strerror(errno_value));
}

/* Removes the file at the address if it is a socket on which no process listens. Returns an error for any
 * other file and does not remove it. */
static joule_status remove_stale_socket(int fd, const struct sockaddr_un *address, joule_error *error)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0)
        return errno == ENOENT ? JOULE_OK : fail(error, "examine", address->sun_path);
    if (!S_ISSOCK(status.st_mode))
        return error_set(error, JOULE_FAILED, "cannot listen on %s: it exists and is not a socket",
                         address->sun_path);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno != ECONNREFUSED)
        return error_set(error, JOULE_FAILED, "cannot listen on %s: another helper uses it",
                         address->sun_path);
    return unlink(address->sun_path) == 0 ? JOULE_OK : fail(error, "remove", address->sun_path);
}

/* Creates the folder of the socket, because /run/joule does not exist after a boot. The parent folder must
 * exist. */
static void make_folder(const char *path)
{
    char copy[sizeof((struct sockaddr_un *)0)->sun_path];
    string_copy(copy, sizeof copy, path);
    mkdir(dirname(copy), 0755);
}

static joule_status find_group(const char *name, gid_t *out_group, joule_error *error)
{
    const struct group *group = getgrnam(name);
    if (!group)
        return error_set(error, JOULE_ABSENT,
                         "there is no group %s; use sudo groupadd --system %s, or --group NAME", name, name);
    *out_group = group->gr_gid;
    return JOULE_OK;
}

/* Binds with mode 0, so that no client can connect before group and mode are set. */
static joule_status bind_closed(int fd, const struct sockaddr_un *address, joule_error *error)
{
    mode_t before = umask(0777);
    int rc = bind(fd, (const struct sockaddr *)address, sizeof *address);
    umask(before);
    return rc == 0 ? JOULE_OK : fail(error, "bind", address->sun_path);
}

static joule_status set_group_and_mode(const char *path, const char *name, joule_error *error)
{
    gid_t group = (gid_t)-1;
    joule_status status = name ? find_group(name, &group, error) : JOULE_OK;
    if (status != JOULE_OK)
        return status;
    if (name && chown(path, (uid_t)-1, group) != 0)
        return fail(error, "change the group of", path);
    return chmod(path, name ? 0660 : 0600) == 0 ? JOULE_OK : fail(error, "set the mode of", path);
}

joule_status listener_bind(const char *path, const char *group, int *out_fd, joule_error *out_error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!string_copy(address.sun_path, sizeof address.sun_path, path))
        return error_set(out_error, JOULE_INVALID, "cannot listen on %s: the path is too long for a socket",
                         path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(out_error, "create a socket for", path);
    make_folder(path);
    joule_status status = remove_stale_socket(fd, &address, out_error);
    if (status == JOULE_OK)
        status = bind_closed(fd, &address, out_error);
    if (status == JOULE_OK)
        status = set_group_and_mode(path, group, out_error);
    if (status == JOULE_OK && listen(fd, SOMAXCONN) != 0)
        status = fail(out_error, "listen on", path);
    if (status == JOULE_OK)
        *out_fd = fd;
    else
        close(fd);
    return status;
}
