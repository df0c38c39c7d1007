#pragma once

#include <stddef.h>
#include <stdint.h>

/// The module's one function. Decodes `size` bytes to pixels of 4 bytes (red, green, blue, 255),
/// rows `stride` bytes apart, of a picture that must have the given size. Returns 0, or 1 with a
/// reason in `message`. Thread-safe.
extern "C" typedef int HeadraceDecodeImage(const uint8_t* bytes, size_t size, uint8_t* pixels,
                                           size_t stride, int width, int height, char* message,
                                           size_t message_size);

#define HEADRACE_DECODE_IMAGE_SYMBOL "headrace_decode_image"
