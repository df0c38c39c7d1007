#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/checkpoint_file.h>

namespace headrace::inline v1::training {
namespace {

constexpr const char* who = "checkpoint";

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  try {
    return read_whole_file(path, who);
  } catch (const ResourceError& error) {
    throw CheckpointError(error.what());
  }
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes,
                           const std::function<void(const std::vector<std::byte>&)>& verify) {
  try {
    headrace::write_file_atomically(path, bytes, {.who = who, .verify = verify});
  } catch (const ResourceError& error) {
    throw CheckpointError(error.what());
  }
}

}  // namespace headrace::inline v1::training
