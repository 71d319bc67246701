/* tools/common/secret.h - reads files with secrets: token, passwords, private key. */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the whole file as text, to be released by secret_free, which erases it. Returns NULL after a message
 * "cannot read WHAT in PATH: ...". Refuses a file that is not regular, belongs to another user except root,
 * is writable by others, or is readable by every user. `is_public` (a certificate): every user may read
 * it. */
char *secret_read(const char *subcommand, const char *path, const char *what, bool is_public);
void secret_free(char *text);
/* Returns true if two texts are equal. Takes a time that depends only on the length of `given`. */
bool secret_is_equal(const char *secret, const char *given);

#endif
