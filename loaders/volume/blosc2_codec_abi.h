#pragma once

#include <stddef.h>
#include <stdint.h>

/// The module's one function. Decodes a Blosc chunk, whose header the caller has checked, to memory
/// of `bytes` bytes, which must be what it holds. Returns 0, or 1 with a reason in `message`.
/// Thread-safe.
extern "C" typedef int HeadraceDecodeBlosc(const uint8_t* chunk, size_t size, uint8_t* out,
                                           size_t bytes, char* message, size_t message_size);

#define HEADRACE_DECODE_BLOSC_SYMBOL "headrace_decode_blosc"
