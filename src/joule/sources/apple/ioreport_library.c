/* joule/sources/apple/ioreport_library.c - loads IOReport's functions. See ioreport.h. */
#include "joule/sources/apple/ioreport.h"

static void *open_library(struct joule_host *host)
{
    const char *path = host->ops->env(host, "JOULE_IOREPORT_LIB");
    return host->ops->open_library(host, path && *path ? path : "/usr/lib/libIOReport.dylib");
}

bool ioreport_is_available(struct joule_host *host)
{
    return open_library(host) != NULL;
}

bool ioreport_load(struct joule_host *host, struct ioreport_library *out_library, const char **out_missing)
{
    struct ioreport_library *l = out_library;
    const struct {
        const char *name;
        void *function; /* address of the function pointer */
    } functions[] = {
        {"IOReportCopyChannelsInGroup", &l->copy_channels_in_group},
        {"IOReportCreateSubscription", &l->create_subscription},
        {"IOReportCreateSamples", &l->create_samples},
        {"IOReportCreateSamplesDelta", &l->create_delta},
        {"IOReportChannelGetChannelName", &l->channel_name},
        {"IOReportChannelGetUnitLabel", &l->channel_unit},
        {"IOReportSimpleGetIntegerValue", &l->integer_value},
        {"CFStringCreateWithCString", &l->string_create},
        {"CFStringGetCString", &l->string_text},
        {"CFDictionaryCreateMutableCopy", &l->dictionary_copy},
        {"CFDictionaryGetValue", &l->dictionary_value},
        {"CFArrayGetCount", &l->array_count},
        {"CFArrayGetValueAtIndex", &l->array_value},
        {"CFRelease", &l->release},
    };
    void *library = open_library(host);
    *out_missing = "";
    for (size_t i = 0; library && i < sizeof functions / sizeof functions[0]; i++) {
        if (host_find_symbol(host, library, functions[i].name, functions[i].function))
            continue;
        *out_missing = functions[i].name;
        return false;
    }
    return library != NULL;
}
