/* support/ttar.h - recorded machines that come as a .ttar.gz text archive.
 *
 * Owns the unpacking into a scripted host. Newcomers: nothing is written to disk.
 */
#ifndef TEST_TTAR_H
#define TEST_TTAR_H

#include "joule/host/host.h"

/* A scripted host with the files and links of the archive; NULL where it cannot be read. */
struct joule_host *ttar_load(const char *path);

#endif
