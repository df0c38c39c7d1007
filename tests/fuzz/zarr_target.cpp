// A Zarr store of any metadata and any chunk gives the same blocks twice, or a DataError. An input
// is what the metadata are (0: of version 2, 1: of version 3, 2: a group's), their length (2
// bytes), they, and the first chunk or shard.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/zarr_volume.h>
#include <headrace/tests/fuzz/read_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

using namespace headrace;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view small_array =
    R"({"zarr_format":2,"shape":[2,2,2],"chunks":[2,2,2],"dtype":"|u1","compressor":null,)"
    R"("fill_value":1,"order":"C","filters":null})";

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Three stores, whose first files are written anew for each input.
struct Folders {
  Folders() {
    for (const char* folder : {"0", "1/c/0/0", "2/0"})
      fs::create_directories(all / folder);
    write(all / "2/.zgroup", R"({"zarr_format":2})");
    write(all / "2/0/.zarray", small_array);
  }
  test::TemporaryFolder all;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folders folders;
  if (size < 3) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::size_t length = std::min<std::size_t>(data[1] | data[2] << 8, rest.size());
  constexpr const char* metadata[] = {"0/.zarray", "1/zarr.json", "2/.zattrs"};
  constexpr const char* chunks[] = {"0/0.0.0", "1/c/0/0/0", "2/0/0.0.0"};
  const std::size_t kind = data[0] % 3;
  write(folders.all / metadata[kind], rest.substr(0, length));
  write(folders.all / chunks[kind], rest.substr(length));
  try {
    test::read_volume(*open_zarr_volume(folders.all / std::to_string(kind), test::small_limits));
  } catch (const DataError&) {
  } catch (const ConfigError&) {  // built without Blosc2
  }
  return 0;
}
