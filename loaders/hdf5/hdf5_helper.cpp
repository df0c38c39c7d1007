#include <headrace/loaders/hdf5/detail/helper/helper_library.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>

#include <atomic>

namespace headrace::inline v1 {
namespace {

std::atomic<bool> helper_is_wanted{false};

}  // namespace

void use_hdf5_helper(bool use) noexcept {
  helper_is_wanted = use;
}

detail::OpenedFile detail::open_hdf5(const std::filesystem::path& path, const Stage& stage,
                                     bool keep_index) {
  if (helper_is_wanted) {
    auto file = std::make_shared<const DataFile>(path, stage);
    return {file, helper_library(file, {.stage = stage.folder, .keep_index = keep_index})};
  }
  auto file = std::make_shared<const Hdf5File>(path, stage);
  return {file, direct_library(file, keep_index)};
}

}  // namespace headrace::inline v1
