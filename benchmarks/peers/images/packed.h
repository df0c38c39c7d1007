#pragma once

#include <headrace/engine/sample/source.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1::bench {

/// A folder's pictures as one packed file under `cache`, written once.
std::shared_ptr<const Source> packed_images(const std::filesystem::path& folder,
                                            const std::filesystem::path& cache, bool crop_indexed);

}  // namespace headrace::inline v1::bench
