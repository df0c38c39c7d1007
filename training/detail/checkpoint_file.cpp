#include <headrace/engine/base/internal/plain_file.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/detail/checkpoint_file.h>

#include <memory>

#include <fcntl.h>

namespace headrace::inline v1::training::detail {
namespace {

constexpr const char* who = "checkpoint";

template <class Call>
auto as_checkpoint_error(const Call& call) {
  try {
    return call();
  } catch (const ResourceError& error) {
    throw CheckpointError(error.what());
  }
}

}  // namespace

FileStream open_file(const std::filesystem::path& path) {
  return as_checkpoint_error([&]() -> FileStream {
    const auto file = std::make_shared<PlainFile>(path, O_RDONLY | O_NONBLOCK, who);
    return {.size = file->size(), .read = [file](std::span<std::byte> into) {
              as_checkpoint_error([&] { file->read(into); });
            }};
  });
}

void write_file(const std::filesystem::path& path, const FileContent& content) {
  as_checkpoint_error([&] { write_file_atomically(path, content, {.who = who}); });
}

}  // namespace headrace::inline v1::training::detail
