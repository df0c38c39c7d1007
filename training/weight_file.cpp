#include <headrace/training/best_weights.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/weight_file.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace headrace::inline v1::training {

namespace {

std::string first_bytes(const std::filesystem::path& path) {
  std::string bytes(32, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// Whether an archive's list of entries, which ends the file, has the constants of TorchScript.
bool is_script(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  std::string end(static_cast<std::size_t>(std::min<std::streamoff>(size, 1 << 16)), '\0');
  file.seekg(size - static_cast<std::streamoff>(end.size()));
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  return end.find("/constants.pkl") != std::string::npos;
}

[[noreturn]] void refuse_pickle(const std::filesystem::path& path) {
  const std::string to = std::filesystem::path(path).replace_extension(".safetensors").string();
  throw CheckpointError(
      "[weights] " + path.string() +
      ": weights must be in a safetensors file, this is a pickle or an archive of Python, which "
      "may "
      "run code when it is read; if you trust it, convert it once in Python:\n"
      "  import torch, safetensors.torch\n"
      "  weights = torch.load(\"" +
      path.string() +
      "\", map_location=\"cpu\", weights_only=True)\n"
      "  safetensors.torch.save_file({name: value.contiguous().clone() for name, value in "
      "weights.get(\"state_dict\", weights).items()}, \"" +
      to + "\")");
}

}  // namespace

TensorMap read_weights(const std::filesystem::path& path) {
  using std::string_view_literals::operator""sv;
  const std::string begin = first_bytes(path);
  // The header of a safetensors file begins behind its length.
  const bool safetensors = begin.size() > 8 && begin[8] == '{';
  if (begin.starts_with("PK\x03\x04"sv) && is_script(path))
    throw CheckpointError(
        "[weights] " + path.string() +
        ": weights must be in a safetensors file, this is a network from TorchScript, with weights "
        "of its own; give it as that (model.torchscript of a configuration)");
  if (!safetensors && (begin.starts_with("PK\x03\x04"sv) || begin.starts_with('\x80')))
    refuse_pickle(path);
  if (begin.starts_with("version https://git-lfs"sv))
    throw CheckpointError(
        "[weights] " + path.string() +
        ": weights must be in a safetensors file, this is a pointer of Git LFS to "
        "one; fetch it by `git lfs pull`");
  return read_best_weights(path).weights;
}

}  // namespace headrace::inline v1::training
