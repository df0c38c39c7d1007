#include <headrace/tests/fuzz/seeds.h>

#include <map>

namespace headrace::test {

std::vector<StoredInput> seeds(const std::string& target) {
  static const std::map<std::string, std::vector<StoredInput> (*)()> made{
      {"decode", image_seeds},
      {"jpeg", jpeg_seeds},
      {"npy", npy_seeds},
      {"idx", idx_seeds},
      {"manifest", manifest_seeds},
      {"safetensors", safetensors_seeds},
      {"yaml", yaml_seeds},
      {"audio", audio_seeds},
      {"side", side_seeds},
      {"hdf5_file", hdf5_file_seeds},
      {"nifti", nifti_seeds},
      {"tiff_volume", tiff_volume_seeds},
      {"zarr", zarr_seeds},
      {"b2nd", b2nd_seeds},
      {"chunk_store", chunk_store_seeds}};
  std::vector<StoredInput> inputs;
  if (const auto found = made.find(target); found != made.end()) inputs = found->second();
  const std::vector<StoredInput> stored = stored_inputs(target);
  inputs.insert(inputs.end(), stored.begin(), stored.end());
  return inputs;
}

}  // namespace headrace::test
