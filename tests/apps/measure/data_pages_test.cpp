#include <headrace/apps/measure/data_pages.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <unistd.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::TemporaryFolder;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

app::DataFiles found(const std::string& yaml) {
  return app::find_data_files(app::parse_document(yaml, "test"));
}

}  // namespace

TEST_CASE("files of data are those that values name, below folders and in lists, each once") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  write(folder.path() / "table.h5", "0123456789");
  write(folder.path() / "pictures/a/1.jpg", "01234");
  write(folder.path() / "pictures/b/2.jpg", "01234");
  write(folder.path() / "far/3.jpg", "01");
  write(folder.path() / "list.csv", "path,label\n\"far/3.jpg\",cat\nfar/none.jpg,dog\n");
  write(folder.path() / "runs/old.h5", "0123456789");
  const app::DataFiles data =
      found("data: {file: " + at + "/table.h5, again: " + at + "/table.h5, folder: " + at +
            "/pictures, list: [" + at + "/list.csv], listings: " + at + "/runs}\nruns: " + at +
            "/runs\nseed: 7\n");
  CHECK(data.files.size() == 5);  // the list itself, too
  CHECK(data.bytes == 10 + 5 + 5 + 2 + fs::file_size(folder.path() / "list.csv"));
  CHECK(data.all);
}

TEST_CASE("paths in a list lie below data.root where one is set") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  write(folder.path() / "root/1.jpg", "01");
  write(folder.path() / "lists/list.tsv", "1.jpg\tcat\n");
  CHECK(found("data: {file: " + at + "/lists/list.tsv}").files.size() == 1);
  CHECK(found("data: {root: " + at + "/root, file: " + at + "/lists/list.tsv}").files.size() == 2);
}

TEST_CASE("words of a configuration are no folders of data, whatever lies beside it") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  write(folder.path() / "classification/big.bin", "0123456789");
  write(folder.path() / "table.npy", "01234");
  const app::DataFiles data = found("kind: " + at + "/classification\nmodel: {name: " + at +
                                    "/classification}\ndata: {train: {source: " + at +
                                    "/classification, data: " + at + "/table.npy}}\n");
  CHECK(data.files.size() == 1);
  CHECK(data.bytes == 5);
}

TEST_CASE("files in the working directory lie in a folder, too") {
  CHECK(app::DataFiles{.files = {"a.h5", "b.h5"}}.folder() == ".");
  CHECK(app::DataFiles{.files = {"data/a.h5"}}.folder() == "data");
}

TEST_CASE("a copy that was just made is not cold") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  write(folder.path() / "table.h5", std::string(1 << 20, 'x'));
  const app::DroppedPages dropped =
      app::drop_pages(found("data: {file: " + at + "/table.h5, stage: " + at + "/stage}\n"));
  CHECK_FALSE(dropped.cold);
  CHECK(contains(dropped.how, "the copy in data.stage"));
}

TEST_CASE("data without a file are said to be memory") {
  const app::DroppedPages dropped = app::drop_pages(found("kind: loader\ndata: {rows: 7}\n"));
  CHECK_FALSE(dropped.cold);
  CHECK(contains(dropped.how, "storage is memory: the configuration names no file"));
}

TEST_CASE("data in a file system without a disk are said to be memory") {
  const fs::path file = "/dev/shm/headrace-data-pages-" + std::to_string(::getpid());
  std::ofstream(file) << "0123456789";
  if (!fs::exists(file)) {
    MESSAGE("skipped: /dev/shm cannot be written");
    return;
  }
  const app::DroppedPages dropped = app::drop_pages({.files = {file}, .bytes = 10});
  fs::remove(file);
  CHECK_FALSE(dropped.cold);
  CHECK(contains(dropped.how, "has no disk"));
}

TEST_CASE("pages that are dropped are said to be cold, or why they stayed") {
  const TemporaryFolder folder;
  write(folder.path() / "table.h5", std::string(1 << 20, 'x'));
  const app::DroppedPages dropped =
      app::drop_pages({.files = {folder.path() / "table.h5"}, .bytes = 1 << 20});
  CHECK(contains(dropped.how, dropped.cold ? "1.00 MiB of 1 files dropped" : "storage is memory"));
}
