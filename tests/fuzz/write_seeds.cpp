// headrace_fuzz_seeds FOLDER: the decoder's seeds as files, for the fuzzer to begin with.
#include <headrace/tests/fuzz/stored_inputs.h>

#include <cstdio>
#include <exception>

namespace {

void write(const std::filesystem::path& path, const headrace::test::Bytes& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw std::runtime_error("cannot write " + path.string());
}

int write_all(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int count = 0;
  for (const auto& file : headrace::test::odd_files()) {
    if (file.bytes.size() < 20'000) write(folder / std::to_string(count++), file.bytes);
  }
  for (const auto& input : headrace::test::stored_inputs("decode"))
    write(folder / input.name, input.bytes);
  return count;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) {
    std::fputs("usage: headrace_fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  std::printf("%d seeds\n", write_all(arguments[1]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "headrace_fuzz_seeds: %s\n", error.what());
  return 1;
}
