#pragma once

#include <filesystem>

namespace headrace::test {

/// Writes sounds for `headrace prepare leak --sounds`: three voices of noisy tones, enough for some
/// recordings of 10 s in each split.
void write_leak_sounds(const std::filesystem::path& folder);

}  // namespace headrace::test
