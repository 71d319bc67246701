/* tools/redfish/client.c - see client.h. */
#include "client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"

#define MAX_ANSWER_BYTES (1 << 20)
#define CONNECT_MS       5000L
#define TOTAL_MS         10000L

struct answer {
    char *text;
    size_t size;
};

static size_t append_bytes(char *bytes, size_t one, size_t count, void *context)
{
    struct answer *answer = context;
    char *text =
        count <= MAX_ANSWER_BYTES - answer->size ? realloc(answer->text, answer->size + count + 1) : NULL;
    if (!text)
        return 0; /* libcurl ends the transfer with CURLE_WRITE_ERROR */
    memcpy(text + answer->size, bytes, one * count);
    answer->text = text;
    answer->size += count;
    return count;
}

/* Sets the options of a curl handle, which copies all strings. */
static bool set_up(CURL *curl, const struct config *config)
{
    bool done = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TOTAL_MS) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, config->is_verified ? 1L : 0L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, config->is_verified ? 2L : 0L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append_bytes) == CURLE_OK;
    if (done && config->ca[0])
        done = curl_easy_setopt(curl, CURLOPT_CAINFO, config->ca) == CURLE_OK;
    if (done && config->user[0])
        done = curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_USERNAME, config->user) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_PASSWORD, config->password) == CURLE_OK;
    return done;
}

joule_status client_open(struct config *config, joule_error *error, struct client *out_client)
{
    *out_client = (struct client){.config = config, .error = error};
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(out_client->curl = curl_easy_init()))
        return error_set(error, JOULE_NO_MEMORY, "libcurl cannot be initialized");
    bool done = set_up(out_client->curl, config);
    explicit_bzero(config->password, sizeof config->password);
    if (!done) {
        client_close(out_client);
        return error_set(error, JOULE_UNSUPPORTED, "this libcurl lacks a required option");
    }
    return JOULE_OK;
}

static joule_status check_transfer(const struct client *client, CURLcode code)
{
    const char *url = client->config->url;
    switch (code) {
    case CURLE_OK:
        return JOULE_OK;
    case CURLE_OPERATION_TIMEDOUT:
        return error_set(client->error, JOULE_STALE, "%s does not answer in time", url);
    case CURLE_PEER_FAILED_VERIFICATION:
        return error_set(
            client->error, JOULE_DENIED,
            "%s: its certificate is not trusted; set ca to the file of its issuer, or verify = no", url);
    case CURLE_SSL_CACERT_BADFILE:
        return error_set(client->error, JOULE_INVALID, "ca: %s contains no certificates", client->config->ca);
    case CURLE_WRITE_ERROR:
        return error_set(client->error, JOULE_FAILED, "%s: an answer is longer than %d bytes", url,
                         MAX_ANSWER_BYTES);
    default:
        return error_set(client->error, JOULE_FAILED, "%s: %s", url, curl_easy_strerror(code));
    }
}

static joule_status check_answer(const struct client *client, const char *path, long code)
{
    switch (code) {
    case 200:
        return JOULE_OK;
    case 401:
        return error_set(client->error, JOULE_DENIED, "%s refuses user and password (401)",
                         client->config->url);
    case 403:
        return error_set(client->error, JOULE_DENIED, "%s does not allow this user to read %s (403)",
                         client->config->url, path);
    case 404:
        return error_set(client->error, JOULE_ABSENT, "%s has no %s", client->config->url, path);
    default:
        return error_set(client->error, JOULE_FAILED, "%s answers with HTTP status %ld for %s",
                         client->config->url, code, path);
    }
}

static joule_status parse(struct client *client, const char *path, const struct answer *answer,
                          const struct json_value **out_value)
{
    char *text = answer->text ? arena_alloc(&client->arena, answer->size + 1) : NULL;
    if (!text)
        return error_set(client->error, JOULE_FAILED, "an empty answer for %s", path);
    memcpy(text, answer->text, answer->size);
    *out_value = json_parse(&client->arena, text, answer->size, path, client->error);
    return *out_value ? JOULE_OK : JOULE_FAILED;
}

joule_status client_get(struct client *client, const char *path, const struct json_value **out_value)
{
    char url[600];
    struct answer answer = {0};
    long code = 0;
    *out_value = NULL;
    string_print(url, sizeof url, "%s%s", client->config->url, path);
    curl_easy_setopt(client->curl, CURLOPT_URL, url);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &answer);
    joule_status status = check_transfer(client, curl_easy_perform(client->curl));
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &code);
    if (status == JOULE_OK)
        status = check_answer(client, path, code);
    if (status == JOULE_OK)
        status = parse(client, path, &answer, out_value);
    free(answer.text);
    return status;
}

void client_close(struct client *client)
{
    if (client->curl)
        curl_easy_cleanup(client->curl);
    curl_global_cleanup();
    arena_free(&client->arena);
}
