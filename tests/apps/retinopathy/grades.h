#pragma once

#include <filesystem>

namespace headrace::test {

/// PNG pictures in a folder for each grade "0" to "4", as `FOLDER/train`, `val` and `test` have
/// them: `count` of the largest class in each, and fewer of the others. A grade is how bright its
/// pictures are, so that few steps learn something.
void write_grades(const std::filesystem::path& folder, int grades, int count);

}  // namespace headrace::test
