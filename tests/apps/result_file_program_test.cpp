// Files that options name: what must stay as it is, stays.
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/report/written_run.h>
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

using Words = std::vector<std::string>;

const std::string rows = "kind: loader\nbatch: 8\ndata: {rows: 400, row_bytes: 3}\n";

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("no command puts its result in the place of what it reads") {
  const TemporaryFolder folder;
  std::ofstream(folder / "rows.yaml") << rows;
  fs::create_symlink("rows.yaml", folder / "link.yaml");
  std::vector<Words> commands{{"inspect", "rows.yaml", "--sheet", ""},
                              {"bench", "loader", "rows.yaml"}};
#ifdef HEADRACE_TRAINS
  commands.push_back({"profile-memory", "rows.yaml"});
#endif
  for (const Words& command : commands) {
    for (const char* name : {"rows.yaml", "./rows.yaml", "link.yaml"}) {
      const Finished finished = run_headrace(folder.path(), with(command, {"--json", name}));
      CHECK_MESSAGE(finished.status == 2, command.front());
      CHECK_MESSAGE(contains(finished.err, "--json must be another file than rows.yaml"),
                    finished.err);
    }
  }
  CHECK(content_of(folder / "rows.yaml") == rows);
  CHECK(fs::is_symlink(folder / "link.yaml"));
}

TEST_CASE("what could not be written is refused before anything is looked at") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder / "images", 4);
  headrace::test::write_run(folder / "run", {.epochs = 2});
  struct Refused {
    Words command;
    std::string words;
  };
  const std::string nowhere = " must name a file in a folder that is there";
  for (const Refused& one :
       {Refused{{"inspect", "images", "--sheet", "none/sheet.png"}, "[inspect] --sheet" + nowhere},
        Refused{{"inspect", "images", "--sheet", "x.json", "--json", "x.json"},
                "[inspect] --sheet must be another file than x.json"},
        Refused{{"report", "run", "--output", "none/page.html"}, "[report] --output" + nowhere},
        Refused{{"monitor", "--duration", "1s", "--plot", "none/plot.png"},
                "[monitor] --plot" + nowhere}}) {
    const Finished finished = run_headrace(folder.path(), one.command);
    CHECK_MESSAGE(finished.status == 2, one.words);
    CHECK(finished.out.empty());
    CHECK_MESSAGE(contains(finished.err, one.words), finished.err);
  }
}

TEST_CASE("results go through a link and into a device, which stay") {
  const TemporaryFolder folder;
  std::ofstream(folder / "rows.yaml") << rows;
  headrace::test::write_run(folder / "a", {.epochs = 2});
  headrace::test::write_run(folder / "b", {.epochs = 2});
  fs::create_directory(folder / "kept");
  for (const Words& command :
       {Words{"inspect", "rows.yaml", "--sheet", "", "--json"},
        Words{"bench", "loader", "rows.yaml", "--json"}, Words{"compare", "a", "b", "--json"},
        Words{"compare", "a", "b", "--output"}, Words{"report", "a", "--output"},
        Words{"monitor", "--interval", "500ms", "--duration", "2500ms", "--plot"}}) {
    INFO(command.front(), " ", command.back());
    fs::remove(folder / "link");
    fs::create_symlink("kept/result", folder / "link");
    fs::remove(folder / "kept" / "result");
    const Finished linked = run_headrace(folder.path(), with(command, {"link"}));
    CHECK_MESSAGE(linked.status == 0, linked.err);
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(fs::file_size(folder / "kept" / "result") > 100);
    fs::remove(folder / "link");
    fs::create_symlink("/dev/null", folder / "link");
    CHECK(run_headrace(folder.path(), with(command, {"link"})).status == 0);
    CHECK(fs::is_symlink(folder / "link"));
  }
  CHECK(fs::is_character_file("/dev/null"));
}
