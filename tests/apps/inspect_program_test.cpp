#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

constexpr const char* images_yaml =
    "kind: loader\nbatch: 64\ndata: {source: images, folder: images, listings: ''}\n"
    "image: {side: 24}\n";

}  // namespace

TEST_CASE("inspect shows rows of a loader's table") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 60, 15);
  write(folder.path() / "rows.yaml", "kind: loader\nbatch: 8\ndata: {rows: 5000, row_bytes: 3}\n");
  const Finished rows = run_headrace(folder.path(), {"inspect", "rows.yaml"});
  REQUIRE_MESSAGE(rows.status == 0, rows.err);
  CHECK(contains(rows.out, "records   5000 of 5000 looked at, 0 bad"));
  CHECK(contains(rows.out, "row    uint8  [3]    0 to 255"));
  CHECK(contains(rows.out, "no contact sheet"));
  write(folder.path() / "table.yaml",
        "kind: loader\nbatch: 8\ndata: {source: hdf5, file: data.h5, datasets: [/split]}\n");
  const Finished table = run_headrace(folder.path(), {"inspect", "table.yaml", "--sheet", ""});
  REQUIRE_MESSAGE(table.status == 0, table.err);
  CHECK(contains(table.out, "records   75 of 75 looked at, 0 bad"));
  CHECK(contains(table.out, "split"));
  CHECK(contains(table.out, "1           15"));
  CHECK_FALSE(contains(table.out, "contact sheet"));
}

TEST_CASE("pictures are shown before a list normalises them, and that is said") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 9);
  write(folder.path() / "job.yaml",
        std::string(images_yaml) +
            "augment: [random_resized_crop, flip, {mixup: {soft_labels: true, group: 4}}, "
            "normalize]\n");
  const Finished plain =
      run_headrace(folder.path(),
                   {"inspect", "job.yaml", "--samples", "3", "--draws", "2", "--set",
                    "augment=[random_resized_crop, flip, {mixup: {soft_labels: true, group: 4}}]"});
  REQUIRE_MESSAGE(plain.status == 0, plain.err);
  CHECK_FALSE(contains(plain.out, "normalised"));
  const std::string wanted = content_of(folder.path() / "inspect.png");
  const Finished found =
      run_headrace(folder.path(), {"inspect", "job.yaml", "--samples", "3", "--draws", "2"});
  REQUIRE_MESSAGE(found.status == 0, found.err);
  CHECK(contains(found.out, "after the pipeline, as they are before they are normalised\n"));
  CHECK(content_of(folder.path() / "inspect.png") == wanted);
  const Finished on_gpu = run_headrace(
      folder.path(),
      {"inspect", "job.yaml", "--samples", "3", "--draws", "2", "--set", "image.decode=cuda"});
  CHECK_MESSAGE(on_gpu.status == 0, on_gpu.err);
  CHECK(content_of(folder.path() / "inspect.png") == wanted);
}

TEST_CASE("a list that does not fit is refused before every file is looked at") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 9);
  write(folder.path() / "job.yaml", std::string(images_yaml) + "augment: [spec_augment]\n");
  const Finished found = run_headrace(folder.path(), {"inspect", "job.yaml"});
  CHECK(found.status == 2);
  CHECK(contains(found.err, "entry \"spec_augment\" of augment"));
  CHECK_FALSE(contains(found.out, "looked at"));
}

TEST_CASE("options that a configuration has as keys are refused beside one") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 9);
  write(folder.path() / "job.yaml", images_yaml);
  const auto said = [&](const std::string& option) {
    const Finished found = run_headrace(folder.path(), {"inspect", "job.yaml", option, "masks"});
    CHECK(found.status == 2);
    return found.err;
  };
  CHECK(contains(said("--masks"),
                 "[inspect] --masks is for pictures without a configuration; of a configuration "
                 "set data.masks: --set data.masks=..."));
  CHECK(contains(said("--mask-suffix"), "set data.mask_suffix"));
  CHECK(contains(said("--root"), "set data.root"));
}

TEST_CASE("names of strangers are shown in short and act on nothing") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 9);
  std::string list = "image,label\n";
  int row = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "images"))
    if (entry.is_regular_file())
      list += fs::relative(entry.path(), folder.path()).string() + ",\"" +
              (row++ % 2 == 0 ? "cat\nkind: other\x1b[31m\xe2\x80\xae" : std::string(4000, 'x')) +
              "\"\n";
  write(folder.path() / "list.csv", list);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", "list.csv", "--sheet", ""},
        {"new", "classification", "--data", "list.csv"}}) {
    const Finished found = run_headrace(folder.path(), words);
    REQUIRE_MESSAGE(found.status == 0, found.err);
    CHECK(contains(found.out, "xxxxxxxxxx"));
    CHECK_FALSE(contains(found.out, "\nkind: other"));
    for (const std::string& text : {found.out, found.err}) {
      CHECK_FALSE(contains(text, "\x1b"));
      CHECK_FALSE(contains(text, "\xe2\x80\xae"));
      CHECK_FALSE(contains(text, std::string(200, 'x')));
    }
  }
  write(folder.path() / "bad.csv", "image,label\nno\x1b[2J\xc2\x9b.png,1\n");
  const Finished bad = run_headrace(folder.path(), {"inspect", "bad.csv"});
  CHECK(bad.status == 2);
  CHECK(contains(bad.err, "no\\x1b[2J\\xc2\\x9b.png: cannot be found"));
}

TEST_CASE("a sparse manifest of 4 GB ends the program at once") {
  const TemporaryFolder folder;
  for (const char* name : {"list.csv", "list.jsonl"}) {
    write(folder.path() / name, "");
    fs::resize_file(folder.path() / name, std::uintmax_t{4} << 30);
    const Finished found = run_headrace(folder.path(), {"inspect", name});
    CHECK(found.status == 2);
    CHECK(contains(found.err, std::string(name) + ": must be text, got a zero at byte 0"));
  }
}
