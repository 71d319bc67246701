/* joule/sources/jetson/jetson.h - the power monitors of Jetson boards, for the sources that could read them
 * too.
 *
 * The source "hwmon" asks so that two sources do not read one chip over a slow bus. The source "tegrastats"
 * asks because it is used only if no other source can read the rails. Note: the answers do not depend on what
 * the source "jetson" has opened. */
#ifndef JOULE_JETSON_H
#define JOULE_JETSON_H

#include "joule/sources/source.h"

/* Returns true if the hardware monitor at `folder` with the name `chip` measures the rails of a Jetson. */
bool jetson_has_chip(struct source *source, const char *folder, const char *chip);
/* Returns true if sysfs has a rail of this machine that can be read. */
bool jetson_has_rails(struct source *source);

#endif
