/* tools/common/secret.h - reads files with secrets: token, passwords, private key. */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the contents of a file, followed by '\0'. The caller releases them with secret_free. Returns NULL
 * after a message "cannot read WHAT in PATH: REASON". Refuses a file that is not regular, is writable by
 * others, or is readable by every user. The owner must be this user or root. is_public true: every user may
 * read the file, for example a certificate. */
char *secret_read(const char *subcommand, const char *path, const char *what, bool is_public);
/* Erases and frees the text; NULL is ignored. */
void secret_free(char *text);
/* Returns true if two texts are equal. The run time depends only on the length of `given`, and so reveals
 * nothing about the secret. */
bool secret_is_equal(const char *secret, const char *given);

#endif
