#pragma once

#include <filesystem>

namespace headrace::test {

/// Pictures of `side` x `side` pixels in `folder`/Imgs with masks in `folder`/GT_Object, of names
/// as COD10K has them: three kinds of animals in turn, two of water and one of land. An animal is a
/// square that is a little brighter than the noise around it.
void write_animals(const std::filesystem::path& folder, int count, int side = 72);

/// One that says that it shows nothing camouflaged, with an empty mask.
void write_plain_picture(const std::filesystem::path& folder, int number, int side = 72);

}  // namespace headrace::test
