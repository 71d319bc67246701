/* joule/record/record_listener.h - connects a recorder with the rounds and the regions of a meter. */
#ifndef JOULE_RECORD_LISTENER_H
#define JOULE_RECORD_LISTENER_H

#include "joule/meter/engine.h"
#include "joule/record/record.h"

/* Connects a recorder with the meter's rounds and with its collector; NULL disconnects the recorder. At most
 * one recorder is connected at one time. After a disconnection returns, no thread uses the recorder. Returns
 * false if out of memory. */
bool record_listener_set(joule_meter *meter, struct recorder *recorder);

#endif
