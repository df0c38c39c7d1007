#pragma once

#include <headrace/tests/fuzz/stored_inputs.h>

#include <string>
#include <vector>

namespace headrace::test {

/// What a target begins with: sound files made here, and its stored inputs.
std::vector<StoredInput> seeds(const std::string& target);

std::vector<StoredInput> image_seeds();
std::vector<StoredInput> jpeg_seeds();
std::vector<StoredInput> npy_seeds();
std::vector<StoredInput> nifti_seeds();
std::vector<StoredInput> tiff_volume_seeds();
std::vector<StoredInput> idx_seeds();
std::vector<StoredInput> safetensors_seeds();
std::vector<StoredInput> manifest_seeds();
std::vector<StoredInput> yaml_seeds();
std::vector<StoredInput> audio_seeds();
std::vector<StoredInput> side_seeds();
std::vector<StoredInput> chunk_store_seeds();
std::vector<StoredInput> hdf5_file_seeds();
std::vector<StoredInput> zarr_seeds();
std::vector<StoredInput> b2nd_seeds();

}  // namespace headrace::test
