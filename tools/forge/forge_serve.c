/* tools/forge/forge_serve.c - `forge serve`: reads the options of the server of a language model. */
#include "forge_commands.h"

#include <forge/chat.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "common/options.h"
#include "common/output.h"
#ifdef FORGE_HAS_SERVER
#include "serve_run.h"

#define MEBIBYTE ((size_t)1 << 20)

/* Options before they are checked. */
struct raw_options {
    const char *host, *cache_tokens, *port, *objective;
    char *key;
    const char *key_file;
    unsigned max_body_mib;
    bool uses_lookup;
};

static bool read_objective(const char *name, forge_objective *out)
{
    static const char *const names[] = {[FORGE_OBJECTIVE_THROUGHPUT] = "throughput",
                                        [FORGE_OBJECTIVE_LATENCY] = "latency",
                                        [FORGE_OBJECTIVE_ENERGY] = "energy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (forge_objective)i;
            return true;
        }
    complain(SERVE, "--objective takes energy, latency or throughput, not '%s'", name);
    return false;
}

/* Returns true if forge_chat_render knows the family. */
static bool is_family(const char *name)
{
    const forge_chat_message message = {"user", ""};
    char *text = NULL;
    joule_error error = {0};
    bool is_known = forge_chat_render(NULL, name, &message, 1, true, NULL, NULL, &text, &error) == JOULE_OK;
    free(text);
    if (!is_known)
        complain(SERVE, "--chat-template: %s", error.message);
    return is_known;
}

static bool check(struct serve_settings *settings, const struct raw_options *raw, char *out_where,
                  size_t size)
{
    uint64_t port;
    if (!string_to_u64(raw->port, 10, &port) || port > 65535) {
        complain(SERVE, "--port takes a number from 0 to 65535, not '%s'", raw->port);
        return false;
    }
    if (raw->cache_tokens &&
        (!string_to_u64(raw->cache_tokens, 10, &settings->engine.cache_tokens) ||
         settings->engine.cache_tokens < 1 || settings->engine.cache_tokens > INT32_MAX)) {
        complain(SERVE, "--cache-tokens takes a whole number from 1 to %d, not '%s'", INT32_MAX,
                 raw->cache_tokens);
        return false;
    }
    string_print(out_where, size, strchr(raw->host, ':') ? "[%s]:%s" : "%s:%s", raw->host, raw->port);
    if (settings->draft_model && raw->uses_lookup) {
        complain(SERVE, "--draft-model and --lookup are both given; only one of them can propose tokens");
        return false;
    }
    settings->engine.speculation = settings->draft_model ? FORGE_SPECULATION_MODEL
                                   : raw->uses_lookup    ? FORGE_SPECULATION_LOOKUP
                                                         : FORGE_SPECULATION_NONE;
    settings->max_body_bytes = raw->max_body_mib * MEBIBYTE;
    return read_objective(raw->objective, &settings->engine.objective) &&
           (!settings->chat_template || is_family(settings->chat_template)) &&
           listener_check(SERVE, out_where);
}

static int read_options(struct serve_settings *s, struct raw_options *raw, int argc, char **argv)
{
    struct option table[LANGUAGE_ROWS + 28] = {
        {"host", 0, OPTION_TEXT, &raw->host, "ADDRESS", "address to listen on (default: 127.0.0.1)"},
        {"port", 'p', OPTION_TEXT, &raw->port, "PORT", "port to listen on; 0: any (default: 8080)"},
        {"alias", 'a', OPTION_TEXT, &s->alias, "NAME",
         "name of the model in requests (default: name of its file)"},
        {"chat-template", 0, OPTION_TEXT, &s->chat_template, "FAMILY",
         "chatml, llama2, llama3, mistral, zephyr, gemma or phi3 (default: the model's own template)"},
        {"max-batch-size", 0, OPTION_COUNT, &s->engine.max_batch_size, "N",
         "maximum number of requests in one step (default: 16)"},
        {"max-batch-tokens", 0, OPTION_COUNT, &s->engine.max_batch_tokens, "N",
         "maximum number of tokens in one step (default: 512)"},
        {"max-length", 0, OPTION_COUNT, &s->engine.max_length, "N",
         "maximum number of tokens of a prompt with its answer (default: the model's context)"},
        {"cache-tokens", 0, OPTION_TEXT, &raw->cache_tokens, "N",
         "tokens in the cache of keys and values (default: max-batch-size * max-length, at most 1 GiB)"},
        {"page-size", 0, OPTION_COUNT, &s->engine.page_size, "N",
         "tokens per page of this cache (default: 16)"},
        {"max-queue", 0, OPTION_COUNT, &s->max_queue, "N",
         "requests that may wait in addition to max-batch-size; more get status 429 (default: 64)"},
        {"max-joules-per-request", 0, OPTION_ENERGY, &s->engine.max_request_joules, "JOULES",
         "end an answer when it has used this energy, such as 5J"},
        {"max-power-watts", 0, OPTION_NUMBER, &s->engine.max_power_watts, "WATTS",
         "limit of the mean power over any second"},
        {"objective", 0, OPTION_TEXT, &raw->objective, "WHAT",
         "what to optimise: energy, latency or throughput (default: throughput)"},
        {"by-priority", 0, OPTION_FLAG, &s->engine.is_by_priority, NULL,
         "answer requests with a lower 'priority' first"},
        {"draft-model", 0, OPTION_TEXT, &s->draft_model, "PATH",
         "speculative decoding: a smaller model with the same vocabulary proposes tokens"},
        {"lookup", 0, OPTION_FLAG, &raw->uses_lookup, NULL,
         "speculative decoding: propose the tokens that followed the last tokens earlier in the text"},
        {"draft-tokens", 0, OPTION_COUNT, &s->engine.draft_tokens, "N",
         "maximum number of proposed tokens in one step (default: 4)"},
        {"api-key", 0, OPTION_TEXT, &raw->key, "KEY",
         "require this key; other users may see it for a moment in the list of processes"},
        {"api-key-file", 0, OPTION_TEXT, &raw->key_file, "FILE",
         "require one of the keys in FILE, one per line"},
        {"allow-host", 0, OPTION_LIST, &s->allowed_hosts, "NAME",
         "without keys: also answer requests for this host name; may be repeated"},
        {"max-body", 0, OPTION_COUNT, &raw->max_body_mib, "MIB",
         "maximum size of a request in MiB (default: 4)"},
        {"max-connections", 0, OPTION_COUNT, &s->max_connections, "N",
         "maximum number of clients at the same time (default: 256)"},
        {"grace", 0, OPTION_TIME, &s->grace_s, "TIME",
         "time to finish running answers after SIGINT or SIGTERM (default: 30s)"},
    };
    size_t count = 0;
    while (table[count].name)
        count++;
    language_options_add(&s->language, table + count);
    const struct command_text text = {
        "forge serve MODEL [OPTIONS]",
        "Answers requests to a language model over HTTP, as the OpenAI API does, with the joules of each "
        "answer.",
        "Paths: / /v1/completions /v1/chat/completions /v1/models /tokenize /detokenize /health /metrics\n"
        "The environment variable FORGE_API_KEY can contain a key.\n"};
    return options_read_operand(table, &text, "MODEL", argc, argv, &s->language.model);
}

int serve_main(int argc, char **argv)
{
    struct serve_settings settings = {
        .max_queue = 64,
        .max_connections = 256,
        .grace_s = 30,
        .engine = {.struct_size = sizeof settings.engine, .max_batch_size = 16}};
    struct raw_options raw = {
        .host = "127.0.0.1", .port = "8080", .objective = "throughput", .max_body_mib = 4};
    char where[300];
    int read = read_options(&settings, &raw, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    bool is_ok =
        check(&settings, &raw, where, sizeof where) && serve_keys_read(&settings.keys, raw.key, raw.key_file);
    int code = is_ok ? serve_run(&settings, where) : EXIT_USAGE;
    serve_keys_free(&settings.keys);
    return code;
}

#else

int serve_main(int argc, char **argv)
{
    (void)argc;
    complain(argv[0], "this build has no server: libmicrohttpd was missing");
    return EXIT_OWN_FAILURE;
}

#endif
