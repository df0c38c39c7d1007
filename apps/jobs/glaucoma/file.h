#pragma once

#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Grey images of the job's classes: `images` uint8 [N, 28, 28] and the class of each, training
/// samples first.
struct GlaucomaImages {
  Tensor images;
  std::vector<std::int64_t> rows;     ///< of `images`, in the order of the file
  std::vector<std::uint8_t> classes;  ///< of each of `rows`, 0 to 4
  std::vector<std::uint8_t> split;    ///< of each of `rows`: 0 training, 1 test
};

struct GlaucomaFileOptions {
  std::filesystem::path file;
  int side = 28;
  int threads = 1;
  std::string recipe;  ///< kept in the file's attribute "recipe"
  std::function<void(std::int64_t done, std::int64_t all)> progress;
};

/// Writes the file of the job: uint8 [N, side, side] below features/, one-hot `labels` uint8 [N, 5]
/// (exact, and a twelfth of the bytes of doubles) and `split` uint8 [N]. It gets its name when it
/// is whole. Throws ConfigError for a folder that cannot be written.
void write_glaucoma_file(const GlaucomaImages& samples, const GlaucomaFileOptions& options);

/// Whether the file is there, whole and made by this recipe.
bool has_glaucoma_file(const std::filesystem::path& file, const std::string& recipe);

}  // namespace headrace::inline v1::app
