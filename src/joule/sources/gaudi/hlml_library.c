/* joule/sources/gaudi/hlml_library.c - loads Habana's library, and translates its return codes. See hlml.h.
 *
 * Note: the dynamic linker may not search the folder in which the library is installed. Other code in this
 * process may have initialised the library already; that is not an error. */
#include "base/string.h"
#include "joule/sources/gaudi/hlml.h"

static void *open_library(struct joule_host *host)
{
    static const char *const names[] = {"libhlml.so", "/usr/lib/habanalabs/libhlml.so"};
    const char *own = host->ops->env(host, "JOULE_HLML_LIB");
    if (own && *own)
        return host->ops->open_library(host, own);
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
        library = host->ops->open_library(host, names[i]);
    return library;
}

bool hlml_is_available(struct joule_host *host)
{
    return open_library(host) != NULL;
}

bool hlml_has_driver(struct source *source, const char *variable)
{
    struct joule_host *host = source->host;
    struct arena arena = {0};
    char **names;
    bool has_driver = host->ops->list(host, HLML_FOLDER, &arena, &names) > 0;
    const char *own = source->is_named ? host->ops->env(host, variable) : NULL;
    arena_free(&arena);
    return has_driver || (own && *own);
}

static void resolve(struct joule_host *host, void *library, struct hlml_api *api)
{
#define HLML_RESOLVE(name, parameters) host_find_symbol(host, library, "hlml_" #name, &api->name);
    HLML_FUNCTIONS(HLML_RESOLVE)
#undef HLML_RESOLVE
}

joule_status hlml_load(struct joule_host *host, struct hlml_api *out_api, char *out_remedy, size_t size)
{
    void *library = open_library(host);
    *out_api = (struct hlml_api){0};
    if (!library) {
        string_copy(out_remedy, size,
                    "libhlml.so not found: install Habana's tools, or set JOULE_HLML_LIB to its path");
        return JOULE_ABSENT;
    }
    resolve(host, library, out_api);
    if (!out_api->init || !out_api->device_get_count || !out_api->device_get_handle_by_index) {
        string_copy(out_remedy, size, "this libhlml.so lacks required functions: reinstall Habana's tools");
        return JOULE_UNSUPPORTED;
    }
    hlml_return code = out_api->init();
    if (code == HLML_SUCCESS || code == HLML_ERROR_ALREADY_INITIALIZED)
        return JOULE_OK;
    string_print(
        out_remedy, size,
        code == HLML_ERROR_DRIVER_NOT_LOADED
            ? "the habanalabs driver is not loaded: run `modprobe habanalabs`"
            : "cannot initialise Habana's library (code %d): see `hl-smi`, and set HABANA_LOGS to a folder "
              "that you may write to",
        code);
    return hlml_status(code);
}

joule_status hlml_status(hlml_return code)
{
    switch (code) {
    case HLML_SUCCESS:
        return JOULE_OK;
    case HLML_ERROR_NOT_SUPPORTED:
    case HLML_ERROR_INVALID_ARGUMENT:
        return JOULE_UNSUPPORTED;
    case HLML_ERROR_DRIVER_NOT_LOADED:
    case HLML_ERROR_NOT_FOUND:
        return JOULE_ABSENT;
    case HLML_ERROR_MEMORY:
        return JOULE_NO_MEMORY;
    case HLML_ERROR_TIMEOUT:
    case HLML_ERROR_NO_DATA:
        return JOULE_STALE;
    default:
        return JOULE_FAILED;
    }
}
