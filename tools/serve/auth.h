/* tools/serve/auth.h - access to readings by a token or by users' passwords.
 *
 * Note: a correct password is stored in memory after its first check, because hashes are slow by design and
 * one thread answers all requests.
 */
#ifndef SERVE_AUTH_H
#define SERVE_AUTH_H

#include <stdbool.h>

struct auth;
/* The result of a check. */
enum auth_answer {
    AUTH_GOOD,  /* access is allowed */
    AUTH_NONE,  /* the request has no Authorization header */
    AUTH_WRONG, /* the header has no accepted scheme, or its token, user or password is wrong */
    AUTH_LATER  /* not checked: there were too many wrong passwords in this second */
};

/* Reads the token and the users' passwords. Either path may be NULL. The token is read from its file or from
 * the variable JOULE_SERVE_TOKEN, which is then erased. Returns false after a message. The caller frees
 * *out_auth with auth_close. Without a token and users, *out_auth is NULL, and every request is allowed. */
bool auth_open(const char *token_path, const char *users_path, struct auth **out_auth);
void auth_close(struct auth *auth);
bool auth_has_token(const struct auth *auth);
bool auth_has_users(const struct auth *auth);

/* Checks an Authorization header; `authorization` is NULL if there is none. `auth` NULL allows every request.
 * The time of the check does not depend on how many characters of the token or password are correct. */
enum auth_answer auth_check(struct auth *auth, const char *authorization);

#endif
