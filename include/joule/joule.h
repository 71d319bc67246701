/* joule/joule.h - includes all public headers of libjoule. Each header below describes one concept. */
#ifndef JOULE_JOULE_H
#define JOULE_JOULE_H

#include <joule/base.h>
#include <joule/quantity.h>
#include <joule/domain.h>
#include <joule/meter.h>
#include <joule/devices.h>
#include <joule/model.h>
#include <joule/region.h>
#include <joule/budget.h>
#include <joule/report.h>

#endif
