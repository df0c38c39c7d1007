#include <headrace/engine/base/internal/plain_file.h>
#include <headrace/training/checkpoint/detail/checkpoint_file.h>
#include <headrace/training/errors.h>

#include <memory>

#include <fcntl.h>

namespace headrace::inline v1::training::detail {
namespace {

constexpr const char* checkpoint_name = "checkpoint";

template <class Refusal, class Call>
auto or_refuse(const Call& call) {
  try {
    return call();
  } catch (const ResourceError& error) {
    throw Refusal(error.what());
  }
}

}  // namespace

FileStream open_file(const std::filesystem::path& path) {
  return or_refuse<CheckpointError>([&]() -> FileStream {
    const auto file = std::make_shared<PlainFile>(path, O_RDONLY | O_NONBLOCK, checkpoint_name);
    return {.size = file->size(), .read = [file](std::span<std::byte> into) {
              or_refuse<CheckpointError>([&] { file->read(into); });
            }};
  });
}

void write_file(const std::filesystem::path& path, const FileContent& content) {
  or_refuse<CheckpointWriteError>(
      [&] { write_file_atomically(path, content, {.who = checkpoint_name}); });
}

}  // namespace headrace::inline v1::training::detail
