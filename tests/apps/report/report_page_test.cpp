#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/report/run_cases.h>
#include <headrace/apps/report/write_report.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/report/tag_balance.h>
#include <headrace/tests/apps/report/written_run.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>

using namespace headrace::app;
using headrace::test::append_text;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::event_line;
using headrace::test::fault_of_markup;
using headrace::test::TemporaryFolder;
using headrace::test::write_run;
using headrace::test::write_text;
namespace fs = std::filesystem;

namespace {

// Nothing that a browser would fetch or run.
void check_page(const std::string& page) {
  CHECK(fault_of_markup(page) == "");
  for (const char* wrong : {"http:", "https:", "<script", "<link", "<iframe", "url(", "@import",
                            "src=\"/", "href=", "onload"}) {
    CAPTURE(std::string(wrong));
    CHECK_FALSE(contains(page, wrong));
  }
}

void add_cases(const fs::path& run) {
  append_text(
      run / "advice.jsonl",
      "{\"rule\":\"raise-threads\",\"severity\":\"warning\",\"verdict\":\"decode holds the "
      "loader back\",\"evidence\":{\"data_stall_fraction\":0.31},\"setting\":\"threads.loader\","
      "\"old\":\"2\",\"new\":\"8\",\"action\":\"more threads\",\"effect\":\"812 -> 1640\","
      "\"check\":\"look "
      "again\",\"number\":1,\"weight\":0.3,\"time\":\"2026-11-27T10:03:00Z\"}\n{\"rule\":\"process-"
      "grows\","
      "\"severity\":\"warning\",\"verdict\":\"memory grows\",\"setting\":\"its "
      "code\",\"time\":\"2026-11-27T10:04:00Z\"}\n{\"torn");
  for (int i = 0; i < 40; ++i)
    append_text(
        run / "bad_samples.jsonl",
        fmt::format("{{\"loader\":\"train\",\"stage\":\"decode\",\"file\":\"{}.jpg\",\"index\":{},"
                    "\"epoch\":0,\"position\":3,\"rule\":\"replace\",\"replacement\":5,"
                    "\"cause\":\"ends at byte {}\"}}\n",
                    i, i, 10 * i));
  append_text(
      run / "bad_steps.jsonl",
      "{\"member\":0,\"epoch\":1,\"step\":9,\"loss\":null,\"done\":\"skipped\",\"samples\":[]}\n");
}

std::string system_sample(int second) {
  return fmt::format(
      "{{\"at_s\":{},\"time\":\"2026-11-27T10:00:{:02}Z\",\"interval_s\":1,\"machine_share\":{},"
      "\"memory_held_bytes\":1000,\"memory_total_bytes\":4000,\"phase\":\"train\",\"busiest\":"
      "[{{\"pid\":1,\"name\":\"<b>cc1plus\",\"cores\":1.5,\"ours\":false}}]}}\n",
      second, second % 60, second == 5 || second == 6 ? 0.93 : 0.4);
}

}  // namespace

TEST_CASE("a report has every part of a run that has them") {
  const TemporaryFolder folder;
  write_run(folder / "run", {.members = 2});
  add_cases(folder / "run");
  for (int i = 0; i < 10; ++i)
    append_text(folder / "run" / "system.jsonl", system_sample(i));
  const std::string page = report_page(folder / "run", jobs());
  check_page(page);
  for (const char* part : {"<h1>run</h1>",
                           "finished",
                           "pass</span> goal ram",
                           "Verdicts and advice",
                           "highly input-bound",
                           "threads.loader: 2 -&gt; 8",
                           "<dd>2026-11-27 10:03:00</dd>",
                           "<dd>2026-11-27 10:04:00</dd>",
                           "raise-threads (rule 1)",
                           "data_stall_fraction 31",
                           "<dt>do</dt><dd>its code</dd>",
                           "something is odd",
                           "Curves",
                           ">accuracy<",
                           "What a step is made of",
                           "data wait 25 %",
                           "Memory",
                           "The machine",
                           "CPU spikes",
                           "1 at 90 % or more",
                           "&lt;b&gt;cc1plus 1.5",
                           "Samples that could not be used: 40",
                           "decode: ends at byte N",
                           ">val accuracy<",
                           "the loss is not finite",
                           "class=\"best\"",
                           "training.epochs",
                           "config.yaml, every key",
                           "What could not be read",
                           "advice.jsonl: 1 of 3 lines"}) {
    CAPTURE(std::string(part));
    CHECK(contains(page, part));
  }
}

TEST_CASE("charts of the machine have one time, though a GPU was there for a part of it alone") {
  const TemporaryFolder folder;
  write_run(folder.path());
  for (int i = 0; i < 50; ++i) {
    std::string line = system_sample(i);
    if (i >= 10 && i < 30) line.insert(1, R"("gpus":[{"index":0,"busy_share":0.5}],)");
    append_text(folder / "system.jsonl", line);
  }
  const std::string page = report_page(folder.path());
  const std::size_t chart = page.find("GPU 0: busy");
  REQUIRE(chart != std::string::npos);
  const std::string svg = page.substr(chart, page.find("</svg>", chart) - chart);
  // 52 to 472 along the axis: from 10 of 49 seconds to 29.
  CHECK_MESSAGE(contains(svg, "d=\"M137.7 "), svg);
  CHECK_MESSAGE(contains(svg, ">40</text>"), svg);
}

TEST_CASE("a report of a run that has hardly begun has what there is") {
  const TemporaryFolder folder;
  write_text(folder / "config.yaml", "kind: glaucoma\n");
  write_text(folder / "log.txt", "2026-11-27T10:00:00.000Z info run folder x\n");
  const std::string page = report_page(folder.path(), jobs());
  check_page(page);
  CHECK(contains(page, "ended without a word"));
  CHECK(contains(page, "none is complete"));
  for (const char* part : {"Curves", "Memory", "The machine", "Epochs", "<svg"}) {
    CAPTURE(std::string(part));
    CHECK_FALSE(contains(page, part));
  }
}

TEST_CASE("names that are markup do nothing in a report") {
  const TemporaryFolder folder;
  const std::string evil = "<script>alert(1)</script>\\\"'><img src=x onerror=alert(1)>";
  const fs::path run = folder / "a<b>&c";
  write_run(run);
  write_text(run / "config.yaml", "kind: \"<script>x</script>\"\n\"<i>\": \"</pre></details>\"\n");
  write_text(run / "command.txt", "cd / && </pre><script>\n");
  write_text(run / "env.json",
             "{\"versions\": {\"<b>\": \"<script>1\"}, \"cpu\": {\"model\": \"" + evil + "\"}}");
  write_text(run / "metrics.csv",
             "member,stage,epoch,val_<script>,\"val_a\"\"b\",bottleneck\n0,<script>,0,0.5,0.5,<u>\n"
             "0,<b>,1,0.5,0.5,<u>\n");
  append_text(run / "events.jsonl",
              event_line("2026-11-27T10:00:00Z", "warning", R"("said":"<script>warn</script>")") +
                  event_line("2026-11-27T10:00:00Z", "end",
                             R"("how":"failed","said":"<script>\u001b[31m")"));
  write_text(run / "result.json", "{\"members\": [{\"member\": \"" + evil +
                                      "\", \"test\": {\"<script>\": 0.5}}], \"goals\": [{\"goal\": "
                                      "\"<script>\", \"result\": \"pass\"}]}");
  write_text(run / "advice.jsonl", "{\"severity\": \"\\\"><script>\", \"verdict\": \"" + evil +
                                       "\", \"evidence\": {\"<script>\": 1}}\n");
  write_text(run / "bad_samples.jsonl",
             "{\"file\": \"" + evil + "\", \"cause\": \"" + evil + "\"}\n");
  const std::string page = report_page(run, jobs());
  check_page(page);
  CHECK(contains(page, "&lt;script&gt;"));
  CHECK_FALSE(contains(page, "<img"));
}

TEST_CASE("keys that are not at their defaults come first") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.batch = 77});
  const std::string page = report_page(folder.path(), jobs());
  CHECK(contains(page,
                 "<td class=\"text\">training.batch</td><td class=\"text\">77</td>"
                 "<td class=\"text\">32</td>"));
  CHECK_FALSE(contains(page, "<td class=\"text\">seed</td>"));  // 42 is the default
  CHECK_FALSE(contains(report_page(folder.path()), "Keys that are not at their defaults"));
}

TEST_CASE("a member that is refused is named with its cause, and none of its figures is shown") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.members = 2});
  write_text(folder / "result.json",
             R"({"members": [{"member": "fold 0", "selected_by": "psnr", "best_epoch": 1,)"
             R"("validation": {"psnr": "inf"}, "test": {"psnr": 31.25}}, {"member": "fold 1",)"
             R"("validation": {"psnr": 77.5}, "test": {"psnr": null}, "refused": "test: NaN"}]})");
  const std::string page = report_page(folder.path(), jobs());
  CHECK(contains(page, "fold 1 is refused, test: NaN"));
  CHECK_FALSE(contains(page, "77.5"));
  CHECK(contains(page, "31.25"));
  CHECK(contains(page, ">inf<"));
}

TEST_CASE("a long run with many members stays below two megabytes") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.members = 20, .epochs = 600});
  std::string lines;
  for (int i = 0; i < 200'000; ++i)
    lines += fmt::format(
        "{{\"at_s\":{},\"interval_s\":5.6,\"machine_share\":{:.3f},\"process_share\":{:.3f},"
        "\"memory_held_bytes\":{},\"memory_total_bytes\":33000000000,\"pressure_cpu_share\":{:.3f},"
        "\"gpus\":[{{\"index\":0,\"busy_share\":{:.3f},\"power_w\":{}}}],\"phase\":\"{}\"}}\n",
        5.6 * i, 0.5 + 0.3 * (i % 7) / 7.0, 0.3 + 0.2 * (i % 5) / 5.0,
        1'000'000'000 + 999 * (i % 1000), 0.1 * (i % 3), 0.9 - 0.1 * (i % 11) / 11.0, 300 + i % 50,
        i % 40 < 36 ? "train" : "evaluate");
  write_text(folder / "system.jsonl", lines);
  const std::string page = report_page(folder.path());
  CHECK(page.size() < 2'000'000);
  CHECK(fault_of_markup(page) == "");
  CHECK(contains(page, "of 12000 epochs; metrics.csv has them all"));
  CHECK(contains(page, "days"));
}

TEST_CASE("pictures are in the page as far as they are pictures and there is room") {
  const TemporaryFolder folder;
  write_run(folder.path());
  const std::string png = std::string("\x89PNG\r\n\x1a\n", 8) + "ab";
  write_text(folder / "results.png", png);
  write_text(folder / "worst.png", "<script>");
  fs::create_directory(folder / "plots");
  write_text(folder / "plots" / "large.png", png + std::string(900'000, 'x'));
  const std::string page = report_page(folder.path());
  check_page(page);
  CHECK(contains(page, "src=\"data:image/png;base64,iVBORw0KGgphYg==\""));
  CHECK_FALSE(contains(page, "worst.png"));
  CHECK(contains(page, "plots/large.png is too large for this page"));
}

TEST_CASE("a picture that cannot be read is said to be so, and the report is whole") {
  const fs::path unlike_its_size = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (!fs::exists(unlike_its_size)) {
    MESSAGE("skipped: there is no such file");
    return;
  }
  const TemporaryFolder folder;
  write_run(folder.path());
  fs::create_symlink(unlike_its_size, folder / "results.png");
  const std::string page = report_page(folder.path());
  check_page(page);
  CHECK(contains(page, "results.png: "));
  CHECK(contains(page, "What a step is made of"));
}

TEST_CASE("files that nobody may read are named") {
  const TemporaryFolder folder;
  write_run(folder.path());
  fs::permissions(folder.path(), fs::perms(0755));
  for (const char* file : {"events.jsonl", "metrics.jsonl", "env.json"})
    fs::permissions(folder / file, fs::perms::none);
  const uid_t before = ::geteuid();
  constexpr uid_t nobody = 65534;
  if (before == 0) REQUIRE(::seteuid(nobody) == 0);
  const std::string page = report_page(folder.path());
  if (before == 0) REQUIRE(::seteuid(before) == 0);
  for (const char* said :
       {"events.jsonl: cannot be read", "metrics.jsonl: cannot be read", "env.json: "})
    CHECK_MESSAGE(contains(page, said), said);
}

TEST_CASE("a report is written into the run's folder, in one piece") {
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_report(folder / "run");
  CHECK(content_of(folder / "run" / "report.html") == report_page(folder / "run"));
  CHECK_THROWS_AS(write_report(folder.path()), headrace::ConfigError);
}

TEST_CASE("reasons of bad samples that differ in their numbers are one") {
  const TemporaryFolder folder;
  add_cases(folder.path());
  const BadCases cases = read_bad_samples(folder / "bad_samples.jsonl");
  CHECK(cases.count.lines == 40);
  REQUIRE(cases.reasons.size() == 1);
  CHECK(cases.reasons.at("decode: ends at byte N") == 40);
  CHECK(cases.first.size() == BadCases::most_listed);
  CHECK(cases.first[1].where == "1.jpg (record 1, epoch 0, position 3)");
  CHECK(cases.first[1].done == "replace by record 5");
}
