#pragma once

#include <headrace/apps/feed/loader_job.h>
#include <headrace/engine/loader/loader.h>

#include <filesystem>
#include <string>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>

namespace headrace::test {

/// Puts a virtual dataset of the same content, or a compact copy, in a dataset's place.
inline void replace_dataset(const std::filesystem::path& path, const std::string& dataset,
                            bool compact) {
  const H5::H5File file(path.c_str(), H5F_ACC_RDWR);
  const std::string stored = dataset + "_stored";
  REQUIRE(H5Lmove(file.getId(), dataset.c_str(), file.getId(), stored.c_str(), H5P_DEFAULT,
                  H5P_DEFAULT) >= 0);
  const H5::DataSet from = file.openDataSet(stored);
  const H5::DataSpace space = from.getSpace();
  const H5::DSetCreatPropList creation;
  if (compact) {
    creation.setLayout(H5D_COMPACT);
  } else {
    H5Pset_virtual(creation.getId(), space.getId(), ".", stored.c_str(), space.getId());
  }
  const H5::DataSet to = file.createDataSet(dataset, from.getDataType(), space, creation);
  if (!compact) return;
  std::vector<char> values(from.getInMemDataSize());
  from.read(values.data(), from.getDataType());
  to.write(values.data(), to.getDataType());
}

/// All bytes of the job's first epoch.
inline std::string epoch_of(const app::LoaderJob& job) {
  Loader loader = job.build();
  std::string bytes;
  for (Batch& batch : loader.epoch(0)) {
    for (const std::string& name : batch.names()) {
      const Tensor field = batch[name];
      bytes.append(static_cast<const char*>(field.raw()), field.bytes());
    }
  }
  return bytes;
}

}  // namespace headrace::test
