/* tools/helper/listener.h - the socket that clients connect to: passed by systemd, or bound by the helper.
 *
 * Note: the mode of the socket file is the access control: the kernel refuses all other users.
 */
#ifndef HELPER_LISTENER_H
#define HELPER_LISTENER_H

#include <joule/base.h>

/* Takes the socket that systemd passes (LISTEN_FDS, sd_listen_fds(3)); *out_fd -1: none. INVALID: it is not a
 * listening Unix socket. */
joule_status listener_inherit(int *out_fd, joule_error *out_error);
/* Binds `path` for a group (mode 0660), or for this user alone (0600) if `group` is NULL. Replaces the socket
 * of a helper that has ended, but not of one that runs. */
joule_status listener_bind(const char *path, const char *group, int *out_fd, joule_error *out_error);

#endif
