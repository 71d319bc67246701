/* tools/helper/listener.h - the socket that clients connect to.
 *
 * Owns where it comes from: systemd, which hands over one that listens, or a path that the helper binds itself, for one
 * group alone. Newcomers: the file's mode is the access control; who may not connect is refused by the kernel.
 */
#ifndef HELPER_LISTENER_H
#define HELPER_LISTENER_H

#include <joule/base.h>

/* The socket that systemd hands over (LISTEN_FDS, sd_listen_fds(3)); -1: none. INVALID: it is no listening Unix socket. */
joule_status listener_inherit(int *out_fd, joule_error *out_error);
/* Binds `path`, which is then the group's (mode 0660), or the user's alone (0600) where `group` is NULL. What a helper that
 * is no more left there is replaced; one that lives is not. */
joule_status listener_bind(const char *path, const char *group, int *out_fd, joule_error *out_error);

#endif
