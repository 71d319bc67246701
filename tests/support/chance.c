/* support/chance.c - see chance.h: where the one stream stands. */
#include "support/chance.h"

uint64_t chance_state = CHANCE_SEED;
