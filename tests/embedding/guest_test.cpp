#include <headrace/augment/flip.h>
#include <headrace/augment/normalize.h>
#include <headrace/augment/rotate.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/monitor/memory/memory_watch.h>
#include <headrace/monitor/system/cpu_usage.h>

#include "../../examples/embed/process_state.h"
#include "../loaders/image_files.h"
#include "../support/temporary_folder.h"

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <oneapi/tbb/global_control.h>

#include <malloc.h>

using namespace headrace;

namespace {

/// All lines in one, so that a failure shows them.
std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

std::string changes_since(const embed::ProcessState& before) {
  return joined(embed::changes(before, embed::process_state()));
}

void read_pictures(const std::filesystem::path& folder, const embed::ProcessState& before) {
  for (const char* name : {"cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/2.jpg"}) {
    std::filesystem::create_directories((folder / name).parent_path());
    const test::Bytes jpeg = test::encode_jpeg({}, test::picture(64, 48, 3));
    std::ofstream(folder / name)
        .write(reinterpret_cast<const char*>(jpeg.data()), std::ssize(jpeg));
  }
  Loader loader = Pipeline::from(ImageFolder{folder})
                      .then(DecodeImage{.crop = RandomResizedCrop{32, 32}, .flip = 0.5F})
                      .then(Rotate{})
                      .then(HorizontalFlip{})
                      .batch({.size = 2})
                      .then(Normalize::imagenet())
                      .build({.runtime = Runtime({.threads = 2})});
  for (Batch& batch : loader.epoch(0))
    CHECK(batch.size() == 2);
  CHECK(changes_since(before) == "");
}

void read_table(const std::filesystem::path& file, const embed::ProcessState& before) {
  Hdf5Writer writer(file);
  writer.add("x", DType::float32, 4, {2});
  writer.append("x", Tensor::of<float>(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}));
  writer.finish();
  for (Residence residence : {Residence::resident, Residence::pread, Residence::library}) {
    Loader loader =
        Pipeline::from(
            Hdf5Table{{.file = file, .fields = {{.dataset = "x"}}, .residence = residence}})
            .batch({.size = 4})
            .build();
    CHECK(loader.next().batch["x"].values<float>()[7] == 8.0F);
    CHECK(changes_since(before) == "");
  }
}

}  // namespace

TEST_CASE("engine, loaders, augment and monitor leave the process as it was") {
  const embed::ProcessState before = embed::process_state();
  const test::TemporaryFolder folder;
  read_pictures(folder / "pictures", before);
  read_table(folder / "table.h5", before);
  monitor::CpuSampler cpu;
  static_cast<void>(cpu.sample());
  CHECK(changes_since(before) == "");
}

TEST_CASE("a change of what belongs to the process is seen") {
  const embed::ProcessState before = embed::process_state();
  const auto seen = [&](const std::string& what) {
    return changes_since(before).find(what) != std::string::npos;
  };
  {
    const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                            1);
    CHECK(seen("TBB parallelism"));
  }
  CHECK(setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1) == 0);
  CHECK(seen("environment HDF5_USE_FILE_LOCKING"));
  CHECK(unsetenv("HDF5_USE_FILE_LOCKING") == 0);
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  REQUIRE(std::setlocale(LC_ALL, "C.UTF-8") != nullptr);
  CHECK(seen("locale"));
  std::setlocale(LC_ALL, locale.c_str());
  const auto folder = std::filesystem::current_path();
  std::filesystem::current_path("/");
  CHECK(seen("working directory"));
  std::filesystem::current_path(folder);
  CHECK(changes_since(before) == "");
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  CHECK(seen("calls of mallopt"));
}
