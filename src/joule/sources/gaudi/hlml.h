/* joule/sources/gaudi/hlml.h - the source "hlml": Intel's Gaudi boards, read with Habana's management library
 * (HLML).
 *
 * hlml_library.c loads the library and translates its return codes; hlml.c reads the boards.
 * Note: the library writes a log into the folder that HABANA_LOGS names. The user may set HABANA_LOGS; Joule
 * does not change it. */
#ifndef JOULE_HLML_H
#define JOULE_HLML_H

#include "joule/sources/gaudi/hlml_abi.h"
#include "joule/sources/source.h"

#define HLML_FOLDER "/sys/bus/pci/drivers/habanalabs"

/* Returns true if the boards' driver is loaded, or if the source was requested by name and `variable` is
 * set. */
bool hlml_has_driver(struct source *source, const char *variable);
/* Returns true if the library can be loaded. */
bool hlml_is_available(struct joule_host *host);
/* Loads and initialises the library; JOULE_HLML_LIB overrides its name. Returns OK, or another status with
 * advice for the user in out_remedy. */
joule_status hlml_load(struct joule_host *host, struct hlml_api *out_api, char *out_remedy, size_t size);
/* Translates a return code of the library to the status of a channel. */
joule_status hlml_status(hlml_return code);

#endif
