/* support/chance.c - the state of the random number generator. See chance.h. */
#include "support/chance.h"

uint64_t chance_state = CHANCE_SEED;
