/* tools/serve/token.c - the secret that clients must know: see serve.h.
 *
 * Newcomers: it never stands on a command line, where every user of the machine could read it, and in no message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/string.h"
#include "common/options.h"
#include "serve.h"

#define VARIABLE "JOULE_SERVE_TOKEN"

/* Visible ASCII without blanks, as it stands in a header. */
static bool is_usable(const char *token)
{
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return *token;
}

static bool take(struct serve_settings *settings, const char *from, const char *text)
{
    if (!string_copy(settings->token, sizeof settings->token, text) || !is_usable(settings->token)) {
        complain(SERVE, "the token in %s must have 1 to %d visible characters without blanks", from,
                 TOKEN_MOST);
        return false;
    }
    return true;
}

static bool take_file(struct serve_settings *settings)
{
    char text[TOKEN_MOST + 64];
    struct stat info;
    int fd = file_open_kind(settings->token_file, FILE_REGULAR | FILE_PIPE);
    if (fd < 0)
        errno = -fd;
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0 || fstat(fd, &info) != 0) {
        complain(SERVE, "cannot read the token in %s: %s", settings->token_file, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    close(fd);
    text[length] = '\0';
    if (info.st_mode & S_IROTH)
        complain(SERVE, "warning: everybody on this machine can read the token; chmod o= %s",
                 settings->token_file);
    bool good = take(settings, settings->token_file, string_trim(text));
    explicit_bzero(text, sizeof text);
    return good;
}

bool token_load(struct serve_settings *settings)
{
    char *value = getenv(VARIABLE);
    bool good =
        settings->token_file ? take_file(settings) : !value || !*value || take(settings, VARIABLE, value);
    if (value)
        explicit_bzero(value,
                       strlen(value)); /* what was in the environment stays to be read in /proc otherwise */
    unsetenv(VARIABLE);
    return good;
}

bool token_is_given(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *given = authorization + sizeof scheme - 1;
    given += strspn(given, " ");
    size_t length = strlen(token), given_length = strlen(given);
    unsigned different = length != given_length;
    for (size_t i = 0; i < given_length; i++)
        different |= (unsigned char)(given[i] ^ token[length ? i % length : 0]);
    return !different;
}
