#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/watch/remarks.h>
#include <headrace/apps/watch/watch_plot.h>
#include <headrace/apps/watch/watch_text.h>
#include <headrace/engine/base/literals.h>
#include <headrace/monitor/system/system_sampler.h>

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using namespace headrace::literals;
using headrace::monitor::SystemSample;

namespace {

SystemSample sample_at(double at_s, double machine) {
  SystemSample sample{.at_s = at_s, .interval_s = 1.0, .cores = 4, .machine_share = machine};
  sample.unix_ms = static_cast<std::int64_t>(at_s * 1000.0);
  sample.tree = {.lives = true,
                 .processes = 3,
                 .threads = 9,
                 .cpu_s = 2.0 * at_s,
                 .cores = 2.0,
                 .resident = 3_GiB};
  sample.host = {.total = 64_GiB, .available = 32_GiB};
  sample.busiest = {{.pid = 7, .name = "python", .cores = 1.5, .ours = true},
                    {.pid = 9, .name = "hog", .cores = 1.0}};
  return sample;
}

const WatchTarget watched{.pid = 7, .words = "python 7"};

bool has_sentence(const std::vector<std::string>& sentences, const std::string& part) {
  for (const std::string& sentence : sentences)
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

// A healthy training on a GPU, to be spoiled in one place.
Seen healthy() {
  Seen seen{.machine = {.samples = 30, .cores = 8, .machine_share = 0.4, .process_share = 0.3},
            .watches_process = true};
  seen.machine.io_pressure = 0.01;
  seen.machine.memory_room = 30_GiB;
  seen.machine.others = {{.pid = 9, .name = "hog", .cores = 0.2}};
  seen.statistics.memory = {
      .samples = 30, .mean = 0.5, .p50 = 0.5, .p90 = 0.5, .p99 = 0.5, .most = 0.5};
  seen.statistics.memory_total = 64_GiB;
  seen.gpu = headrace::monitor::GpuFacts{.name = "Card",
                                         .busy_share = 0.92,
                                         .memory_total = 24_GiB,
                                         .memory_peak = 12_GiB,
                                         .temperature_c = 60,
                                         .our_context = true};
  return seen;
}

}  // namespace

TEST_CASE("a healthy training has nothing that stands out, nor has a watch of a moment") {
  CHECK(remarks(healthy()).empty());
  Seen short_one = healthy();
  short_one.gpu->busy_share = 0.1;
  short_one.machine.samples = 4;
  CHECK(remarks(short_one).empty());
  short_one.machine.samples = 5;
  CHECK(remarks(short_one).size() == 1);
}

TEST_CASE("a GPU that waits is told apart by whether the CPUs are full") {
  Seen seen = healthy();
  seen.gpu->busy_share = 0.30;
  CHECK(remarks(seen).empty());
  seen.gpu->busy_share = 0.17;
  CHECK(has_sentence(remarks(seen), "the GPU is 17 % busy and the CPUs are 40 %: something waits"));
  seen.machine.machine_share = 0.95;
  CHECK(has_sentence(remarks(seen), "more threads or workers will not help"));
  seen.machine.machine_share = 0.7;
  CHECK(has_sentence(remarks(seen), "headrace doctor tells them apart"));
  seen.gpu->busy_share = -1.0;
  CHECK(remarks(seen).empty());
}

TEST_CASE("others are named where they take CPU from a full machine") {
  Seen seen = healthy();
  seen.machine.others[0].cores = 3.0;
  CHECK(remarks(seen).empty());
  seen.machine.machine_share = 0.8;
  CHECK(has_sentence(remarks(seen), "other processes take 3.0 of 8 cores"));
  CHECK(has_sentence(remarks(seen), "hog 9"));
  seen.machine.others[0].cores = 1.5;
  CHECK(remarks(seen).empty());
  seen.machine.others[0].cores = 3.0;
  seen.watches_process = false;
  CHECK(remarks(seen).empty());
}

TEST_CASE("short memory, slow storage, a slowed and a shared GPU are said with their figures") {
  Seen seen = healthy();
  seen.statistics.memory->most = 0.93;
  CHECK(has_sentence(remarks(seen), "memory reached 93 % of 64.0 GiB, 30.0 GiB were left"));
  seen = healthy();
  seen.machine.io_pressure = 0.25;
  seen.machine.read_from_disk_per_s = 1024.0 * 1024.0;
  CHECK(has_sentence(remarks(seen),
                     "tasks wait for storage 25 % of the time, 1.00 MiB/s come from it"));
  seen.machine.io_pressure = -1.0;  // not known
  CHECK(remarks(seen).empty());
  seen = healthy();
  seen.gpu->memory_peak = 23_GiB;
  CHECK(has_sentence(remarks(seen), "GPU memory reached 96 % of 24.0 GiB (Card)"));
  seen = healthy();
  seen.gpu->throttled = {"power limit"};
  CHECK(has_sentence(remarks(seen), "clocks are held back (power limit), at 60 degrees C"));
  seen = healthy();
  seen.gpu->others = {"python 8 (3.00 GiB)"};
  CHECK(has_sentence(remarks(seen), "other processes are on the GPU: python 8 (3.00 GiB)"));
}

TEST_CASE("the report has window, statistics, spikes with their processes, and the busiest") {
  WatchFindings findings;
  for (int i = 1; i <= 20; ++i)
    findings.add(sample_at(i, i > 5 && i <= 10 ? 0.95 : 0.3));
  const std::string text = watch_report(watched, findings, 0.02);
  CAPTURE(text);
  const std::vector<std::string> parts{
      "watched python 7 for 20.0 s, 20 samples; watching took 0.1 % of a core\n",
      "its processes used 40.0 s of CPU (2.00 of 4 cores) and at most 3.00 GiB\n",
      "RAM",
      "of\n",
      "CPU spikes: 1 at 70 % or more, 1 at 80 %, 1 at 90 %\n",
      "00:00:05",
      "1.50  python 7 (watched)\n",
      "1.00  hog 9\n",
      " 2.00  all that are watched\n",
      " 1.50  python 7 (watched)\n"};
  for (const std::string& part : parts)
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    CHECK(text_width(text.substr(from, end - from)) <= 100);
    from = end + 1;
  }
  CHECK(watch_report(watched, WatchFindings{}, 0.0) == "watched python 7: no sample was taken\n");
}

TEST_CASE("sentences of the report are broken at blanks where they are wider than the terminal") {
  WatchFindings findings;
  for (int i = 1; i <= 20; ++i)
    findings.add(sample_at(i, 0.99));
  const std::string text = watch_report(watched, findings, 0.02, 50);
  const std::size_t remark = text.find("\n- ");
  REQUIRE(remark != std::string::npos);
  CHECK(text.find("\n  ", remark) != std::string::npos);
  for (std::size_t from = remark + 1; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    CHECK(text_width(text.substr(from, end - from)) <= 50);
    from = end + 1;
  }
}

TEST_CASE("what is shown while it is watched fits the terminal") {
  WatchFindings findings;
  for (int i = 1; i <= 3; ++i)
    findings.add(sample_at(i, 0.9));
  for (const std::size_t columns : {20U, 40U, 79U, 99U, 199U}) {
    const auto lines = watch_lines(watched, findings, columns);
    CHECK(lines.size() == 4);
    for (const std::string& line : lines)
      CHECK(text_width(line) <= columns);
  }
  CHECK(watch_lines(watched, findings, 199)[1] ==
        "python 7: 2.00 of 4 cores, 3.00 GiB, 3 processes, 9 threads");
  CHECK(watch_lines(watched, findings, 199)[3] ==
        "3.00 s watched, 1 CPU spike, the last one lasts");
  CHECK(watch_line(watched, findings) ==
        "GPU: n/a | CPU: 90 % | RAM: 32.0/64.0 GiB | python 7: 2.00 of 4 cores, 3.00 GiB, 3 "
        "processes, 9 threads");
  const WatchTarget machine{.pid = headrace::monitor::SystemSamplerOptions::nobody,
                            .words = "the machine"};
  CHECK(watch_line(machine, findings) == "GPU: n/a | CPU: 90 % | RAM: 32.0/64.0 GiB");
}

TEST_CASE("a watch has its shares over time, in bounded memory, with gaps where nothing was told") {
  WatchFindings findings;
  findings.add(sample_at(1.0, 0.2));
  const auto machine = [&] { return findings.curve("machine")->points(); };
  REQUIRE(machine().size() == 2);
  CHECK(machine()[0].x == 0.0);  // the sample speaks for its interval
  CHECK(machine()[1].x == 1.0);
  CHECK(findings.curve("tree")->mean() == doctest::Approx(0.5));
  CHECK(findings.curve("memory")->mean() == doctest::Approx(0.5));
  CHECK(findings.curve("gpu_busy") == nullptr);
  CHECK(findings.curve("gpu_memory") == nullptr);
  findings.add(sample_at(100.0, 0.4));
  CHECK(std::isnan(machine().at(2).y));
  CHECK(machine().at(3).y == 0.4);
  for (double at_s = 101.0; at_s < 9000.0; at_s += 1.0)
    findings.add(sample_at(at_s, 0.5));
  CHECK(machine().size() < 2100);
  CHECK(findings.curve("machine")->means().size() < 1100);
  CHECK(findings.curve("machine")->means().back().y == doctest::Approx(0.5));
  CHECK(watch_png("python 7", findings).size() > 1000);
}

TEST_CASE("a picture needs two seconds") {
  WatchFindings findings;
  findings.add(sample_at(0.9, 0.5));
  CHECK(watch_png("python 7", findings).empty());
  for (int i = 2; i <= 5; ++i)
    findings.add(sample_at(i, 0.95));
  CHECK(watch_png("python 7", findings).size() > 1000);
}
