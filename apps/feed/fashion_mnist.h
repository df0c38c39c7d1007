#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// The four IDX files of Fashion-MNIST, as Debian's package dataset-fashion-mnist holds them.
struct FashionMnistFiles {
  std::filesystem::path train_images;
  std::filesystem::path train_labels;
  std::filesystem::path test_images;
  std::filesystem::path test_labels;
  std::string digest;  ///< short name of exactly these bytes, for recipes
};

/// Finds the files: where the package installs them, else in the cache folder (XDG_CACHE_HOME or
/// ~/.cache, then headrace/), else fetched into it with `apt-get download` and unpacked there,
/// which needs no root. Every file's SHA-256 is checked against the known one. `say` gets a line
/// when something is fetched. Throws DataError naming the file and the way out.
FashionMnistFiles find_fashion_mnist(const std::function<void(std::string_view)>& say = {});

/// Throws DataError when one of the four files in `folder` is missing or is not the known one.
FashionMnistFiles verified_fashion_mnist(const std::filesystem::path& folder);

}  // namespace headrace::inline v1::app
