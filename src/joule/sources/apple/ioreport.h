/* joule/sources/apple/ioreport.h - the functions of macOS' library IOReport that Joule uses to read energy.
 *
 * This file declares IOReport's functions and the functions of CoreFoundation that read their results.
 * IOReport is private to Apple and has no header; programs have used these signatures since macOS 11.
 * Note: IOReport is linked with CoreFoundation, so both libraries' functions are found through IOReport. The
 * caller must release results of functions named Create or Copy, but not results of functions named Get. */
#ifndef JOULE_IOREPORT_H
#define JOULE_IOREPORT_H

#include "joule/host/host.h"

typedef const void *cf_ref; /* CFTypeRef: any object of CoreFoundation; NULL: none */

#define CF_UTF8 0x08000100u

/* Parameters named a, b and c are unused here: pass 0 or NULL. */
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

/* Returns true if the library can be opened: the file in JOULE_IOREPORT_LIB or, if that is not set,
 * /usr/lib/libIOReport.dylib. */
bool ioreport_is_available(struct joule_host *host);
/* Loads all functions. Returns false if the library or a function does not exist. *out_missing is then the
 * function's name, or empty if the library does not exist. */
bool ioreport_load(struct joule_host *host, struct ioreport_library *out_library, const char **out_missing);

#endif
