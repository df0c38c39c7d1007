#include <headrace/tests/fuzz/seeds.h>
#include <headrace/tests/loaders/volume/volume_packs.h>

#include <map>
#include <string>

namespace headrace::test {
namespace {

/// As zarr_target.cpp takes it apart.
Bytes zarr_input(char kind, const std::string& metadata, const std::string& chunk) {
  std::string bytes{kind, static_cast<char>(metadata.size() & 255U),
                    static_cast<char>(metadata.size() >> 8)};
  return bytes_of(bytes += metadata + chunk);
}

}  // namespace

std::vector<StoredInput> zarr_seeds() {
  std::map<std::string, std::string> files;
  for (PackedFile& file : packed_files("zarr"))
    files.emplace(std::move(file.name), std::move(file.content));
  std::vector<StoredInput> inputs;
  for (const auto& [name, content] : files) {
    const std::string store = name.substr(0, name.find('/'));
    const auto chunk = [&](const char* file) {
      const auto found = files.find(store + file);
      return found == files.end() ? std::string() : found->second;
    };
    if (name == store + "/.zarray")
      inputs.push_back({store, zarr_input(0, content, chunk("/0.0.0"))});
    else if (name == store + "/zarr.json")
      inputs.push_back({store, zarr_input(1, content, chunk("/c/0/0/0"))});
    else if (name == store + "/.zattrs" && store.starts_with("ome"))
      inputs.push_back({store, zarr_input(2, content, "xxxxxxxx")});
  }
  return inputs;
}

std::vector<StoredInput> b2nd_seeds() {
  std::vector<StoredInput> inputs;
  for (const PackedFile& file : packed_files("b2nd"))
    if (file.name.ends_with(".b2nd") && file.content.size() < 6000)
      inputs.push_back({file.name, bytes_of(file.content)});
  return inputs;
}

}  // namespace headrace::test
