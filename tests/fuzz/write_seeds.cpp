// headrace_fuzz_seeds FOLDER TARGET: what a target begins with, as files.
#include <headrace/tests/fuzz/seeds.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace {

void write(const std::filesystem::path& path, const headrace::test::Bytes& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3) {
    std::fputs("usage: headrace_fuzz_seeds FOLDER TARGET\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const auto& input : headrace::test::seeds(arguments[2]))
    write(folder / std::to_string(number++), input.bytes);
  std::printf("%d seeds\n", number);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "headrace_fuzz_seeds: %s\n", error.what());
  return 1;
}
