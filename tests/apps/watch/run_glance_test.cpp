#include <headrace/apps/run/file_end.h>
#include <headrace/apps/run/run_process.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/watch/run_glance.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace headrace;
using app::glance_line;
using app::glance_lines;
using app::parse_progress;
using app::read_run_glance;
using app::RunEnd;
using app::RunGlance;
using test::contains;

namespace fs = std::filesystem;

namespace {

const std::string progress =
    "2026-11-28T00:00:34.000Z info fold 0 epoch 3/8 88 % · 589 samples/s · epoch done in 326 ms · "
    "loss 0.6491 lr 0.001 · step 23 ms = data 0 + copy 0 + compute 23 + other 0 · CPU 38 % · "
    "memory 148 MiB\n";
const std::string verdict =
    R"({"time":"2026-11-28T00:00:35Z","event":"verdict","verdict":"not input-bound",)"
    R"("bottleneck":"consumer","said":"not input-bound (data stall 0.0 %): the consumer sets the )"
    R"(pace"})"
    "\n";
const std::string machine_row =
    R"({"at_s":1,"cores":4,"machine_share":0.45,"processes":2,"process_cores":1.5,)"
    R"("memory_held_bytes":3221225472,"memory_total_bytes":68719476736,)"
    R"("memory_available_bytes":48962627174,"gpus":[{"index":0,"busy_share":0.85,)"
    R"("memory_used_bytes":13207024435,"memory_total_bytes":25769803776}],)"
    R"("busiest":[{"pid":1,"name":"train","cores":1.5,"ours":true},)"
    R"({"pid":2,"name":"ffmpeg","cores":0.4,"ours":false}]})"
    "\n";

class Run {
 public:
  Run() {
    put("config.yaml", "kind: glaucoma\n");
    put("log.txt", "2026-11-28T00:00:24.000Z info run folder x\n" + progress);
    put("events.jsonl", verdict);
    put("metrics.jsonl",
        "{\"member\":0,\"epoch\":2,\"step\":280,\"loss\":0.5,\"gradient_norm\":1.25,"
        "\"learning_rate\":0.001,\"samples_per_s\":589.0}\n"
        "{\"member\":0,\"epoch\":2,\"epoch_s\":3.0}\n{\"half a ro");
    put("metrics.csv",
        "member,epoch,step,train_loss,val_loss,val_accuracy,improved,epoch_s\n"
        "0,0,100,0.8,0.7,0.5,1,4.0\n0,1,200,0.6,0.65,0.5625,1,2.0\n");
    put("system.jsonl", machine_row);
    put("advice.jsonl",
        "{\"rule\":\"threads\",\"severity\":\"warning\",\"verdict\":\"decode is slow\","
        "\"setting\":\"threads.loader\",\"old\":\"1\",\"new\":\"4\",\"effect\":\"stall 31 % -> 2 "
        "%\"}\n");
    process(::getpid(), app::process_started(::getpid()));
  }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  void process(std::int64_t pid, std::int64_t started) const {
    put("env.json", "{\"pid\":" + std::to_string(pid) +
                        ",\"pid_started\":" + std::to_string(started) + ",\"kernel\":{\"host\":\"" +
                        app::host_name() + "\"}}");
  }
  void end_with(const std::string& how, const std::string& said) const {
    put("events.jsonl",
        verdict + R"({"event":"end","how":")" + how + R"(","said":")" + said + "\"}\n");
    process(::getpid(), 1);
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
  FolderLock work_{folder_.path()};  // as the process that is at work in it has
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("a line about a step is understood, and no other") {
  const auto line = parse_progress(progress.substr(0, progress.size() - 1).substr(30));
  REQUIRE(line);
  CHECK(line->head == "fold 0");
  CHECK(line->epoch == 3);
  CHECK(line->epochs == 8);
  CHECK(line->share == doctest::Approx(0.88));
  CHECK(line->pace == "589 samples/s");
  CHECK(line->left == "epoch done in 326 ms");
  CHECK(line->figures == "loss 0.6491 lr 0.001");
  CHECK(line->step == "step 23 ms = data 0 + copy 0 + compute 23 + other 0");
  const auto alone = parse_progress("epoch 1/3 2.0 % · 141 samples/s");
  REQUIRE(alone);
  CHECK(alone->head == "");
  for (const char* text :
       {"", "epoch", "epoch 1/3", "epoch 1/3 2.0 %", "epoch 4/3 2 % · x", "epoch a/b 2 % · x",
        "memory of training, epoch 3: tensors 1 GiB · x", "epoch 0/3 2 % · x"})
    CHECK_MESSAGE(!parse_progress(text), text);
}

TEST_CASE("a run that is at work is shown whole") {
  const Run run;
  const RunGlance glance = read_run_glance(run.path());
  CHECK(glance.end == RunEnd::running);
  CHECK(glance.kind == "glaucoma");
  CHECK(glance.epochs_done == 2);
  CHECK(glance.best_epoch == 2);
  CHECK(glance.epoch_s == doctest::Approx(3.0));
  const std::string text = joined(glance_lines(glance, 200));
  CAPTURE(text);
  for (const char* part : {"process ",
                           "running, last row",
                           "fold 0 epoch 3/8",
                           "88 %",
                           "epoch done in 326 ms",
                           "stage done in about",
                           "589 samples/s",
                           "loss 0.5",
                           "gradient_norm 1.25",
                           "step 23 ms = data 0",
                           "epoch 2 (best 2): val_loss 0.65",
                           "val_accuracy 0.5625",
                           "GPU: 85 %",
                           "VRAM: 12.3/24.0 GiB (51 %)",
                           "CPU: 45 %",
                           "RAM: 18.4/64.0 GiB",
                           "run: 1.5 of 4 cores, 3.00 GiB",
                           "busiest, cores: train 1.5, ffmpeg 0.4 (not of the run)",
                           "not input-bound",
                           "advice: warning · decode is slow",
                           "threads.loader 1 -> 4"})
    CHECK_MESSAGE(contains(text, part), part);
  const std::string line = glance_line(glance);
  CHECK(std::ranges::count(line, '\n') == 0);
  for (const char* part :
       {"fold 0 epoch 3/8 88 %", "589 samples/s", "loss 0.6491", "GPU: 85 %", "running, last row"})
    CHECK_MESSAGE(contains(line, part), part);
}

TEST_CASE("rows and epochs that are newer than the last line of the log say the place") {
  const Run run;
  const auto place = [&run] { return *read_run_glance(run.path()).progress; };
  CHECK(place().share == doctest::Approx(0.88));  // the row says 80 % of the third epoch
  run.put("metrics.jsonl", "{\"epoch\":2,\"step\":295,\"samples_per_s\":589.0}\n");
  CHECK(place().epoch == 3);
  CHECK(place().share == doctest::Approx(0.95));
  run.put("metrics.jsonl", "{\"epoch\":3,\"step\":310,\"samples_per_s\":589.0}\n");
  CHECK(place().epoch == 4);
  CHECK(place().share == doctest::Approx(0.1));
  run.put("metrics.jsonl", "{\"epoch\":-7,\"step\":1e99,\"samples_per_s\":589.0}\n");
  CHECK(place().epoch == 3);
}

TEST_CASE("a block has at most twenty lines, and figures that do not fit are left out") {
  const Run run;
  for (const std::size_t columns : {40U, 79U, 99U, 199U}) {
    CAPTURE(columns);
    const auto lines = glance_lines(read_run_glance(run.path()), columns);
    CHECK(lines.size() <= 20);
    CHECK(lines.size() >= 8);
    if (columns < 79) continue;
    for (const std::string& line : lines)
      CHECK_MESSAGE(app::text_width(line) <= columns, line);
  }
}

TEST_CASE("processes that do not fit are left out, and none is cut") {
  app::RunGlance glance{.name = "run"};
  for (int i = 0; i < 5; ++i)
    glance.busiest.push_back({.pid = i + 1, .name = "ffmpeg", .cores = 0.5});
  const auto lines = glance_lines(glance, 79);
  CHECK(lines.back() == "busiest, cores: ffmpeg 0.5 (not of the run), ffmpeg 0.5 (not of the run)");
  CHECK(contains(glance_lines(glance, 20).back(), "ffmpeg 0.5 (not of the run)"));
}

TEST_CASE("how a run has ended is told from its last word") {
  const Run run;
  const auto state = [&run] { return read_run_glance(run.path()).end; };
  run.end_with("done", "figures and curves: results.csv in x");
  CHECK(state() == RunEnd::finished);
  run.end_with("stopped", "stopped and saved; to go on: headrace train --resume x");
  CHECK(state() == RunEnd::stopped);
  CHECK(
      contains(joined(glance_lines(read_run_glance(run.path()), 100)), "to go on: headrace train"));
  run.end_with("failed", "[read] row 7: cannot be read");
  CHECK(state() == RunEnd::failed);
  CHECK(contains(joined(glance_lines(read_run_glance(run.path()), 100)), "[read] row 7"));
  run.put("events.jsonl", verdict);
  CHECK(state() == RunEnd::killed);
  // It went on, and was killed then.
  run.end_with("stopped", "x");
  std::ofstream(run.path() / "events.jsonl", std::ios::app) << R"({"event":"resume"})" << '\n';
  CHECK(state() == RunEnd::killed);
  // Of before there were events.
  fs::remove(run.path() / "events.jsonl");
  CHECK(state() == RunEnd::killed);
  run.put("result.json", "{}");
  CHECK(state() == RunEnd::finished);
  fs::remove(run.path() / "result.json");
  run.put("env.json", "{}");
  CHECK(state() == RunEnd::unknown);
  run.put("env.json", "{\"pid\":7,\"kernel\":{\"host\":\"another\"}}");
  CHECK(state() == RunEnd::elsewhere);
}

TEST_CASE("a run has the name of its folder, however it is named") {
  const Run run;
  const std::string name = run.path().filename().string();
  CHECK(read_run_glance(run.path() / "").name == name);
  CHECK(read_run_glance(run.path() / ".").name == name);
  fs::create_directory_symlink(run.path(), run.path() / "link");
  CHECK(read_run_glance(run.path() / "link").name == name);
}

TEST_CASE("a run that is silent for long is doubted") {
  const Run run;
  const auto then = fs::file_time_type::clock::now() - std::chrono::minutes(2);
  fs::last_write_time(run.path() / "log.txt", then);
  fs::last_write_time(run.path() / "metrics.jsonl", then);
  const std::string text = app::state_text(read_run_glance(run.path()));
  CHECK_MESSAGE(contains(text, "has not written for 2 min"), text);
  CHECK(contains(text, "hung"));
}

TEST_CASE("a folder with next to nothing in it is shown, and one that is no run is refused") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_AS(read_run_glance(folder.path()), ConfigError);
  CHECK_THROWS_AS(read_run_glance(folder.path() / "none"), ConfigError);
  std::ofstream(folder.path() / "config.yaml") << "{{{ no yaml";
  const RunGlance glance = read_run_glance(folder.path());
  CHECK(glance.end == RunEnd::unknown);
  CHECK(contains(joined(glance_lines(glance, 80)), "no step was told of yet"));
  CHECK_FALSE(glance_line(glance).empty());
}

TEST_CASE(
    "a folder that cannot be looked into is refused, and a table that cannot be read is left out") {
  const test::TemporaryFolder folder;
  fs::create_symlink("config.yaml", folder.path() / "config.yaml");  // without an end
  CHECK_THROWS_AS(read_run_glance(folder.path()), ConfigError);
  const Run run;
  fs::remove(run.path() / "metrics.csv");
  fs::create_directory(run.path() / "metrics.csv");
  CHECK(read_run_glance(run.path()).epochs_done == 0);
}

TEST_CASE("files that are broken or hostile break nothing") {
  const Run run;
  for (const char* file : {"metrics.jsonl", "system.jsonl", "advice.jsonl", "metrics.csv",
                           "events.jsonl", "log.txt", "env.json"}) {
    for (const std::string text :
         {"", "\n\n\n", "[1,2]\n", "null\n", "{\"samples_per_s\":null}\n",
          "{\"gpus\":[7,null,{}],\"machine_share\":\"x\",\"busiest\":[3,{}]}\n",
          "\x1b[2J\xff\xfe\n", "member\n\"", "{\"severity\":{},\"verdict\":[],\"setting\":3}\n"}) {
      CAPTURE(file);
      CAPTURE(text);
      const Run fresh;
      fresh.put(file, text);
      CHECK_NOTHROW(glance_lines(read_run_glance(fresh.path()), 80));
      CHECK_NOTHROW(glance_line(read_run_glance(fresh.path())));
    }
  }
}

TEST_CASE("the end of a file is its last whole lines") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "lines";
  CHECK(app::last_lines(file).empty());
  std::ofstream(file) << "first\nsecond\nthird\nhalf";
  CHECK(app::last_lines(file) == std::vector<std::string>{"first", "second", "third"});
  CHECK(app::last_lines(file, 12) == std::vector<std::string>{"third"});
  CHECK(app::last_lines(file, 2).empty());
  CHECK(app::count_lines(file) == 3);
  CHECK(app::seconds_since_written(file) >= 0.0);
  CHECK(app::seconds_since_written(folder.path() / "none") < 0.0);
}

TEST_CASE("the newest sample is shown, with the processes of the newest that looked at them") {
  const Run run;
  run.put("system.jsonl", machine_row + R"({"at_s":2,"machine_share":0.5})" + "\n" +
                              R"({"at_s":3,"machine_share":0.6,"gpus":[]})" + "\nnonsense\n");
  const std::string text = joined(glance_lines(read_run_glance(run.path()), 200));
  CAPTURE(text);
  CHECK(contains(text, "GPU: n/a | CPU: 60 %\nbusiest, cores: train 1.5"));
  CHECK_FALSE(contains(text, "run: "));
  run.put("system.jsonl", "nonsense\n");
  CHECK_FALSE(contains(joined(glance_lines(read_run_glance(run.path()), 200)), "CPU: "));
}

TEST_CASE("advice that changes no setting shows none") {
  const Run run;
  run.put("advice.jsonl", R"({"severity":"notice","verdict":"v","setting":"","old":"","new":""})"
                          "\n");
  CHECK(read_run_glance(run.path()).advice == "notice · v");
  run.put("advice.jsonl", R"({"severity":"notice","verdict":"v","setting":"a cheaper stage"})"
                          "\n");
  CHECK(read_run_glance(run.path()).advice == "notice · v · a cheaper stage");
}
