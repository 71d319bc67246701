/* joule/sources/apple/ioreport.h - the interface of macOS' library IOReport, as far as Joule uses it for
 * energy.
 *
 * It has IOReport's functions, and the functions of CoreFoundation that its results need. IOReport is private
 * to Apple and has no header; programs have used these signatures since macOS 11.
 * Note: CoreFoundation's functions are found through the same library, which is linked with it. The caller
 * must release results of functions named Create or Copy, and must not release those of Get. */
#ifndef JOULE_IOREPORT_H
#define JOULE_IOREPORT_H

#include "joule/host/host.h"

typedef const void *cf_ref; /* CFTypeRef: any object of CoreFoundation; NULL: none */

#define CF_UTF8 0x08000100u

struct ioreport_library {
    cf_ref (*copy_channels_in_group)(cf_ref group, cf_ref subgroup, uint64_t a, uint64_t b, uint64_t c);
    cf_ref (*create_subscription)(void *a, cf_ref desired, cf_ref *out_subscribed, uint64_t b, cf_ref c);
    cf_ref (*create_samples)(cf_ref subscription, cf_ref channels, cf_ref a);
    cf_ref (*create_delta)(cf_ref before, cf_ref after, cf_ref a);
    cf_ref (*channel_name)(cf_ref channel);
    cf_ref (*channel_unit)(cf_ref channel);
    int64_t (*integer_value)(cf_ref channel, int32_t a);
    cf_ref (*string_create)(cf_ref allocator, const char *text, uint32_t encoding);
    unsigned char (*string_text)(cf_ref string, char *buffer, long size, uint32_t encoding);
    cf_ref (*dictionary_copy)(cf_ref allocator, long capacity, cf_ref dictionary);
    cf_ref (*dictionary_value)(cf_ref dictionary, const void *key);
    long (*array_count)(cf_ref array);
    cf_ref (*array_value)(cf_ref array, long index);
    void (*release)(cf_ref object);
};

/* Returns true if this system has the library: /usr/lib/libIOReport.dylib, or the file in
 * JOULE_IOREPORT_LIB. */
bool ioreport_is_available(struct joule_host *host);
/* Loads all functions. Returns false if the library (empty *out_missing) or the function *out_missing does
 * not exist. */
bool ioreport_load(struct joule_host *host, struct ioreport_library *out_library, const char **out_missing);

#endif
