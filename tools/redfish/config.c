/* tools/redfish/config.c - see config.h. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/file.h"
#include "base/string.h"

/* Opens a regular file or a pipe for reading. Returns NULL with errno if `path` is of another kind or cannot
 * be opened. */
static FILE *open_text(const char *path)
{
    int fd = file_open_kind(path, FILE_REGULAR | FILE_PIPE);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd < 0)
        errno = -fd;
    else if (!file)
        close(fd);
    return file;
}

/* Reads the password from the first line of a file, which other users may not read. */
static joule_status read_password(const char *path, struct config *config, joule_error *error)
{
    struct stat info;
    FILE *file = open_text(path);
    if (!file)
        return error_set(error, status_of_errno(errno), "password_file %s: %s", path, file_reason(errno));
    joule_status status = JOULE_OK;
    if (fstat(fileno(file), &info) != 0 || info.st_mode & (S_IROTH | S_IWOTH))
        status = error_set(error, JOULE_DENIED, "password_file %s can be read by every user; chmod o= %s",
                           path, path);
    else if (!fgets(config->password, sizeof config->password, file))
        status = error_set(error, JOULE_INVALID, "password_file %s is empty", path);
    fclose(file);
    config->password[strcspn(config->password, "\r\n")] = '\0';
    return status;
}

static joule_status set_url(struct config *config, const char *value, joule_error *error)
{
    bool is_plain = string_starts(value, "http://");
    const char *host = value + strlen(is_plain ? "http://" : "https://");
    if (!is_plain && !string_starts(value, "https://"))
        return error_set(error, JOULE_INVALID, "url must begin with https://");
    if (strchr(host, '@'))
        return error_set(error, JOULE_INVALID,
                         "url must not contain a user; use the keys user and password_file");
    if (!string_copy(config->url, sizeof config->url, value))
        return error_set(error, JOULE_INVALID, "url must not be longer than %zu bytes",
                         sizeof config->url - 1);
    config->url[host - value + (ptrdiff_t)strcspn(host, "/?#")] = '\0';
    return JOULE_OK;
}

static joule_status set_verify(struct config *config, const char *value, joule_error *error)
{
    config->is_verified = strcmp(value, "no") != 0;
    if (config->is_verified && strcmp(value, "yes") != 0)
        return error_set(error, JOULE_INVALID, "verify must be yes or no, not \"%s\"", value);
    return JOULE_OK;
}

static joule_status set(struct config *config, const char *key, const char *value, joule_error *error)
{
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {{"user", config->user, sizeof config->user},
                 {"ca", config->ca, sizeof config->ca},
                 {"chassis", config->chassis, sizeof config->chassis}};
    if (strcmp(key, "url") == 0)
        return set_url(config, value, error);
    if (strcmp(key, "verify") == 0)
        return set_verify(config, value, error);
    if (strcmp(key, "password_file") == 0)
        return read_password(value, config, error);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(key, texts[i].key) == 0)
            return string_copy(texts[i].text, texts[i].size, value)
                       ? JOULE_OK
                       : error_set(error, JOULE_INVALID, "%s must not be longer than %zu bytes", key,
                                   texts[i].size - 1);
    return error_set(error, JOULE_INVALID,
                     "unknown key \"%s\"; the keys are url, user, password_file, verify, ca and chassis",
                     key);
}

static joule_status read_lines(FILE *file, struct config *config, joule_error *error)
{
    char line[512];
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && fgets(line, sizeof line, file)) {
        char *key = string_trim(line), *sign = strchr(key, '=');
        if (!*key || *key == '#')
            continue;
        if (!sign)
            return error_set(error, JOULE_INVALID, "a line is not of the form \"key = value\"");
        *sign = '\0';
        status = set(config, string_trim(key), string_trim(sign + 1), error);
    }
    return status;
}

joule_status config_read(const char *path, struct config *out_config, joule_error *out_error)
{
    joule_error reason = {0};
    *out_config = (struct config){.is_verified = true};
    FILE *file = open_text(path);
    if (!file)
        return error_set(out_error, status_of_errno(errno), "%s: %s", path, file_reason(errno));
    joule_status status = read_lines(file, out_config, &reason);
    fclose(file);
    if (status == JOULE_OK && !out_config->url[0])
        status = error_set(&reason, JOULE_INVALID, "url is missing");
    if (status == JOULE_OK && out_config->is_verified && string_starts(out_config->url, "http://"))
        status = error_set(&reason, JOULE_INVALID,
                           "url: http:// sends the password unencrypted; to allow this, set verify = no");
    return status == JOULE_OK ? status : error_set(out_error, status, "%s: %s", path, reason.message);
}
