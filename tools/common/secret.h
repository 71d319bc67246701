/* tools/common/secret.h - files whose content others must not know: token, passwords, private key. */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the whole file as text into memory that secret_free erases; NULL after a message of the
 * subcommand that begins with "cannot read WHAT in PATH". Refuses what is not a regular file, belongs to
 * another user than this one and root, may be written by others than its owner, or read by everybody.
 * `is_public` (a certificate): everybody may read it. */
char *secret_read(const char *subcommand, const char *path, const char *what, bool is_public);
void secret_free(char *text);
/* Whether two texts are equal, in a time that depends on the length of `given` only. */
bool secret_is_equal(const char *secret, const char *given);

#endif
