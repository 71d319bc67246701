/* support/ttar.h - loads recorded machines from .ttar.gz text archives into a scripted host.
 *
 * Note: nothing is written to disk. */
#ifndef TEST_TTAR_H
#define TEST_TTAR_H

#include "joule/host/host.h"

/* Returns a scripted host with the archive's files and links, or NULL if it cannot be read. */
struct joule_host *ttar_load(const char *path);

#endif
