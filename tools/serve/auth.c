/* tools/serve/auth.c - see auth.h.
 *
 * The file of users contains a line "NAME: HASH" for each user. htpasswd writes this format, and Prometheus
 * uses it in basic_auth_users of its web configuration. Hashes are those of crypt(5).
 * Note: messages and arguments never contain a token or password. Every user of the machine can read
 * arguments.
 */
#include "auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/string.h"
#include "common/options.h"
#include "common/secret.h"
#include "serve.h"
#ifdef SERVE_HAS_CRYPT
#include <crypt.h>
#endif

#define VARIABLE     "JOULE_SERVE_TOKEN"
#define MAX_TOKEN    256
#define MAX_PASSWORD 256
#define MAX_NAME     64
#define WRONG_PER_S  4 /* maximum number of wrong passwords per second; each hash takes about 50 ms */
#define HEADER       "basic_auth_users:"

struct user {
    char name[MAX_NAME + 1];
    char hash[256];
    char known[MAX_PASSWORD + 1]; /* the last correct password; empty: none yet */
};

struct auth {
    char token[MAX_TOKEN + 1]; /* empty: none */
    struct user *users;
    size_t count, capacity;
    int64_t second_ns; /* start of the second in which wrong passwords are counted */
    unsigned wrong;    /* number of wrong passwords in that second */
};

/* --- the token ------------------------------------------------------------------------------------------ */

/* Returns true if the token is not empty and contains only visible ASCII, because it is part of an HTTP
 * header. */
static bool is_usable(const char *token)
{
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return *token;
}

static bool set_token(struct auth *auth, const char *from, const char *text)
{
    bool is_valid = string_copy(auth->token, sizeof auth->token, text) && is_usable(auth->token);
    if (!is_valid)
        complain(SERVE, "the token in %s must have 1 to %d visible characters without blanks", from,
                 MAX_TOKEN);
    return is_valid;
}

static bool load_token(struct auth *auth, const char *path)
{
    char *value = getenv(VARIABLE), *text = NULL;
    bool is_valid = true;
    if (path)
        is_valid =
            (text = secret_read(SERVE, path, "the token", false)) && set_token(auth, path, string_trim(text));
    else if (value && *value)
        is_valid = set_token(auth, VARIABLE, value);
    secret_free(text);
    if (value)
        explicit_bzero(value, strlen(value)); /* other programs could read the variable in /proc */
    unsetenv(VARIABLE);
    return is_valid;
}

/* --- users ---------------------------------------------------------------------------------------------- */

#ifdef SERVE_HAS_CRYPT
/* Returns true for a hash that this C library can compute and that is not obsolete. */
static bool is_hash(const char *hash)
{
    static struct crypt_data data;
    const char *computed = hash[0] == '$' && !string_starts(hash, "$1$") ? crypt_r("", hash, &data) : NULL;
    return computed && computed[0] == '$' && strlen(computed) == strlen(hash);
}

static bool matches(const char *password, const char *hash)
{
    static struct crypt_data data;
    const char *computed = crypt_r(password, hash, &data);
    bool is_same = computed && computed[0] == '$' && secret_is_equal(hash, computed);
    explicit_bzero(&data, sizeof data);
    return is_same;
}
#endif

static char *unquote(char *text)
{
    size_t length = strlen(text);
    if (length < 2 || (text[0] != '"' && text[0] != '\'') || text[length - 1] != text[0])
        return text;
    text[length - 1] = '\0';
    return text + 1;
}

/* Adds the user in `line`. Returns NULL, or the error in static storage. */
static const char *add_user(struct auth *auth, char *line)
{
#ifdef SERVE_HAS_CRYPT
    char *colon = strchr(line, ':');
    if (!colon)
        return "not NAME: HASH";
    *colon = '\0';
    const char *name = unquote(string_trim(line)), *hash = unquote(string_trim(colon + 1));
    if (!*name || strlen(name) > MAX_NAME)
        return "the name must have 1 to 64 characters";
    for (size_t i = 0; i < auth->count; i++)
        if (strcmp(auth->users[i].name, name) == 0)
            return "the name occurs twice";
    if (strlen(hash) >= sizeof auth->users->hash || !is_hash(hash))
        return "not a password hash that this C library supports";
    if (!ARRAY_ROOM(auth->users, auth->capacity, auth->count))
        return "out of memory";
    struct user *user = &auth->users[auth->count++];
    *user = (struct user){0};
    string_copy(user->name, sizeof user->name, name);
    string_copy(user->hash, sizeof user->hash, hash);
    return NULL;
#else
    (void)auth, (void)line, (void)unquote;
    return "this build has no crypt(3)";
#endif
}

static bool load_users(struct auth *auth, const char *path)
{
    unsigned number = 0;
    const char *fault = NULL;
    char *text = secret_read(SERVE, path, "the passwords", false);
    if (!text)
        return false;
    for (char *rest = text, *line; !fault && (line = strsep(&rest, "\n"));) {
        number++;
        line = string_trim(line);
        if (*line && *line != '#' && strcmp(line, HEADER) != 0)
            fault = add_user(auth, line);
    }
    secret_free(text);
    if (!fault && auth->count > 0)
        return true;
    if (fault)
        complain(SERVE, "cannot use line %u of %s: %s", number, path, fault);
    else
        complain(SERVE, "cannot use %s: it names no user", path);
    complain(SERVE, "hint: printf 'NAME: %%s\\n' \"$(mkpasswd -m bcrypt)\" >>%s, or htpasswd -B %s NAME",
             path, path);
    return false;
}

/* --- open and close ------------------------------------------------------------------------------------- */

bool auth_open(const char *token_path, const char *users_path, struct auth **out_auth)
{
    struct auth *auth = *out_auth = calloc(1, sizeof *auth);
    if (!auth)
        complain(SERVE, "out of memory");
    if (auth && load_token(auth, token_path) && (!users_path || load_users(auth, users_path))) {
        if (auth_has_token(auth) || auth_has_users(auth))
            return true;
        auth_close(auth);
        *out_auth = NULL;
        return true;
    }
    auth_close(auth);
    *out_auth = NULL;
    return false;
}

void auth_close(struct auth *auth)
{
    if (!auth)
        return;
    if (auth->users)
        explicit_bzero(auth->users, auth->count * sizeof *auth->users);
    free(auth->users);
    explicit_bzero(auth, sizeof *auth);
    free(auth);
}

bool auth_has_token(const struct auth *auth)
{
    return auth && auth->token[0];
}

bool auth_has_users(const struct auth *auth)
{
    return auth && auth->count > 0;
}

/* --- checking ------------------------------------------------------------------------------------------- */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes base64 to text. Returns false if `text` is not base64, or if the result does not fit or contains a
 * zero byte. */
static bool decode_base64(const char *text, char *out, size_t size)
{
    unsigned bits = 0, count = 0;
    size_t length = 0;
    for (; *text && *text != '='; text++) {
        int digit = base64_digit(*text);
        if (digit < 0 || length + 1 >= size)
            return false;
        bits = bits << 6 | (unsigned)digit;
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        out[length] = (char)(bits >> count & 0xff);
        if (!out[length++])
            return false;
    }
    out[length] = '\0';
    return text[strspn(text, "=")] == '\0';
}

static bool may_hash(struct auth *auth)
{
    int64_t now = clock_now_ns();
    if (now - auth->second_ns >= NS_PER_S) {
        auth->second_ns = now;
        auth->wrong = 0;
    }
    return auth->wrong < WRONG_PER_S;
}

/* Also computes a hash for an unknown name, so that the time does not reveal which names exist. */
static enum auth_answer check_user(struct auth *auth, const char *name, const char *password)
{
#ifdef SERVE_HAS_CRYPT
    struct user *user = NULL;
    for (size_t i = 0; i < auth->count; i++)
        if (strcmp(auth->users[i].name, name) == 0)
            user = &auth->users[i];
    if (user && user->known[0] && secret_is_equal(user->known, password))
        return AUTH_GOOD;
    if (!may_hash(auth))
        return AUTH_LATER;
    if (!matches(password, user ? user->hash : auth->users[0].hash) || !user) {
        auth->wrong++;
        return AUTH_WRONG;
    }
    string_copy(user->known, sizeof user->known, password);
    return AUTH_GOOD;
#else
    (void)auth, (void)name, (void)password, (void)may_hash;
    return AUTH_WRONG;
#endif
}

static enum auth_answer check_basic(struct auth *auth, const char *encoded)
{
    char text[MAX_NAME + MAX_PASSWORD + 2];
    enum auth_answer answer = AUTH_WRONG;
    char *colon = decode_base64(encoded, text, sizeof text) ? strchr(text, ':') : NULL;
    if (colon && strlen(colon + 1) <= MAX_PASSWORD) {
        *colon = '\0';
        answer = check_user(auth, text, colon + 1);
    }
    explicit_bzero(text, sizeof text);
    return answer;
}

/* Returns the part after "SCHEME ", or NULL if the header is for another scheme. */
static const char *after_scheme(const char *authorization, const char *scheme)
{
    size_t length = strlen(scheme);
    if (strncasecmp(authorization, scheme, length) != 0 || authorization[length] != ' ')
        return NULL;
    return authorization + length + strspn(authorization + length, " ");
}

enum auth_answer auth_check(struct auth *auth, const char *authorization)
{
    const char *given;
    if (!auth)
        return AUTH_GOOD;
    if (!authorization)
        return AUTH_NONE;
    if (auth_has_token(auth) && (given = after_scheme(authorization, "Bearer")))
        return secret_is_equal(auth->token, given) ? AUTH_GOOD : AUTH_WRONG;
    if (auth_has_users(auth) && (given = after_scheme(authorization, "Basic")))
        return check_basic(auth, given);
    return AUTH_WRONG;
}
