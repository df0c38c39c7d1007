#include <headrace/apps/feed/debian_package.h>
#include <headrace/apps/feed/fashion_mnist.h>
#include <headrace/apps/run/child_process.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view package = "dataset-fashion-mnist";
constexpr std::string_view installed = "usr/share/datasets/fashion-mnist";

struct KnownFile {
  std::string_view name;
  std::string_view sha256;
};

constexpr std::array<KnownFile, 4> known_files{{
    {"train-images-idx3-ubyte.gz",
     "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7"},
    {"train-labels-idx1-ubyte.gz",
     "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056"},
    {"t10k-images-idx3-ubyte.gz",
     "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa"},
    {"t10k-labels-idx1-ubyte.gz",
     "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05"},
}};

bool has_files(const fs::path& folder) {
  std::error_code ignored;
  for (const KnownFile& file : known_files) {
    if (!fs::is_regular_file(folder / file.name, ignored)) return false;
  }
  return true;
}

void fetch_into(const fs::path& target) {
  const std::string way_out = fmt::format(
      "install the package with \"apt-get install {}\", or unpack its four files into {}", package,
      target.string());
  fetch_debian_package(
      {.name = package, .folder = installed, .complete = has_files, .way_out = way_out}, target);
}

}  // namespace

FashionMnistFiles verified_fashion_mnist(const std::filesystem::path& folder) {
  std::vector<std::string> command{"sha256sum", "--"};
  for (const KnownFile& file : known_files)
    command.push_back((folder / file.name).string());
  const ChildResult sums = run_child(command);
  for (const KnownFile& file : known_files) {
    const std::string wanted = fmt::format("{}  {}", file.sha256, (folder / file.name).string());
    if (sums.output.find(wanted) != std::string::npos) continue;
    throw DataError(fmt::format(
        "[prepare] {} must have the SHA-256 {}, got another one or no such file; remove {} and "
        "run the command again",
        (folder / file.name).string(), file.sha256, folder.string()));
  }
  return {.train_images = folder / known_files[0].name,
          .train_labels = folder / known_files[1].name,
          .test_images = folder / known_files[2].name,
          .test_labels = folder / known_files[3].name,
          .digest = std::string(known_files[0].sha256.substr(0, 16))};
}

FashionMnistFiles find_fashion_mnist(const std::function<void(std::string_view)>& say) {
  const fs::path system = fs::path("/") / installed;
  if (has_files(system)) return verified_fashion_mnist(system);
  const fs::path cached = cache_folder() / "fashion-mnist";
  if (!has_files(cached)) {
    if (say) say(fmt::format("fetching Debian's {} (31 MB) into {}", package, cached.string()));
    fetch_into(cached);
  }
  return verified_fashion_mnist(cached);
}

}  // namespace headrace::inline v1::app
