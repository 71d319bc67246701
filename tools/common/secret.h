/* tools/common/secret.h - reads files with secrets: token, passwords, private key. */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the whole file as text into memory that secret_free erases; NULL after a message of the subcommand
 * that begins with "cannot read WHAT in PATH". Refuses a file that is not regular, is owned by another user
 * than this one and root, is writable by others than its owner, or is readable by everybody. `is_public` (a
 * certificate): everybody may read it. */
char *secret_read(const char *subcommand, const char *path, const char *what, bool is_public);
void secret_free(char *text);
/* Returns true if two texts are equal. Takes a time that depends only on the length of `given`. */
bool secret_is_equal(const char *secret, const char *given);

#endif
