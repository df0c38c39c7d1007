#pragma once

/// Marks the public names of the libraries: everything else stays hidden in a shared build.
#define HEADRACE_API __attribute__((visibility("default")))
