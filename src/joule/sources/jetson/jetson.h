/* joule/sources/jetson/jetson.h - recognises the power monitors of Jetson boards, for other sources that
 * could read them.
 *
 * The source "hwmon" skips these monitors, so that only one source reads each chip over its slow bus. The
 * source "tegrastats" is used only if sysfs shows no rail that can be read.
 * Note: the results do not depend on whether the source "jetson" is open. */
#ifndef JOULE_JETSON_H
#define JOULE_JETSON_H

#include "joule/sources/source.h"

/* Returns true if the hardware monitor at `folder` with the name `chip` measures the rails of a Jetson. */
bool jetson_has_chip(struct source *source, const char *folder, const char *chip);
/* Returns true if a rail of this machine can be read in sysfs. */
bool jetson_has_rails(struct source *source);

#endif
