/* forge/forge.h - includes all headers of TensorForge. */
#ifndef FORGE_FORGE_H
#define FORGE_FORGE_H

#include <forge/base.h>
#include <forge/dtype.h>
#include <forge/random.h>
#include <forge/tensor.h>
#include <forge/graph.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/compiler.h>
#include <forge/program.h>
#include <forge/placed.h>
#include <forge/queue.h>
#include <forge/energy.h>
#include <forge/telemetry.h>
#include <forge/nonfinite.h>
#include <forge/data.h>
#include <forge/serialize.h>
#include <forge/checkpoint.h>
#include <forge/tokenizer.h>
#include <forge/chat.h>
#include <forge/model.h>
#include <forge/sampling.h>
#include <forge/engine.h>
#include <forge/kv_cache.h>

#endif
