#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace headrace::test {

constexpr std::array every_way{Residence::automatic, Residence::resident, Residence::cached,
                               Residence::pread,     Residence::file,     Residence::library};

/// The refusal of a dataset, the same in every residence.
inline std::string refusal(const std::filesystem::path& file, const std::string& dataset,
                           std::size_t memory = 1_MiB) {
  std::string message;
  for (Residence residence : every_way) {
    message = message_of<DataError>([&] {
      Hdf5Table(
          {.file = file, .fields = {{"x", dataset}}, .memory = memory, .residence = residence});
    });
    CHECK(contains(message, file.filename().string()));
  }
  return message;
}

}  // namespace headrace::test
