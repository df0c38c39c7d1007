#pragma once

#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>

// What jpeglib.h keeps to itself: libjpeg-turbo installs it beside, without a guard.
#include <jpegint.h>
