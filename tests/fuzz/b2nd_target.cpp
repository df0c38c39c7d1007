// A Blosc2 NDim file of any content gives the same blocks twice, or a DataError.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/b2nd_volume.h>
#include <headrace/tests/fuzz/memory_file.h>
#include <headrace/tests/fuzz/read_volume.h>

#include <cstdint>
#include <span>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const test::MemoryFile file(std::as_bytes(std::span(data, size)));
  try {
    test::read_volume(*open_b2nd_volume(file.name(), test::small_limits));
  } catch (const DataError&) {
  } catch (const ConfigError&) {  // built without Blosc2
  }
  return 0;
}
