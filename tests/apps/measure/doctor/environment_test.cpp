#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/apps/measure/doctor/mounts.h>
#include <headrace/tests/apps/text_checks.h>

#include "healthy_machine.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::app;
using headrace::monitor::Severity;
using headrace::test::HealthyMachine;
using headrace::test::widest_line;

TEST_CASE("nothing is wrong with a machine as it should be") {
  const HealthyMachine machine;
  for (const Finding& finding : check_environment(machine.options)) {
    INFO(finding.what, ": ", finding.found);
    CHECK(finding.severity == Severity::info);
    CHECK(finding.known);
    CHECK(finding.way_out.empty());
  }
}

TEST_CASE("an empty root is unknown all over, and nothing of it passes") {
  const headrace::test::FakeRoot root;
  EnvironmentOptions options{.root = root.path(), .facts = EnvironmentFacts{}};
  options.data = "/data";
  options.runs = "/runs";
  const Findings findings = check_environment(options);
  CHECK(findings.size() >= 15);
  for (const Finding& finding : findings) {
    if (finding.what == "NVIDIA driver") continue;  // that there is none is known
    INFO(finding.what, ": ", finding.found);
    CHECK_FALSE(finding.known);
    CHECK(finding.severity == Severity::notice);
    CHECK(finding.found.starts_with("unknown: "));
  }
}

TEST_CASE("findings come worst first, what is not known behind what is") {
  HealthyMachine machine;
  machine.options.needs = {.gpu = true, .loader_threads = 17};
  machine.options.torch_cuda.clear();
  machine.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  machine.remove("proc/cpuinfo");
  const Findings findings = check_environment(machine.options);
  REQUIRE(findings.size() > 4);
  CHECK(findings[0].what == "LibTorch");
  CHECK(findings[0].severity == Severity::error);
  CHECK(findings[1].what == "threads.loader");
  CHECK(findings[1].severity == Severity::warning);
  CHECK(findings[2].what == "transparent huge pages");
  CHECK(findings[3].what == "virtual machine");
  CHECK_FALSE(findings[3].known);
  CHECK(findings[4].severity == Severity::info);
}

TEST_CASE("a driver that LibTorch's CUDA is too new for is an error, the least one is not") {
  HealthyMachine machine;
  machine.remove("proc/driver/nvidia/version");
  machine.facts().driver = "525.60.13";
  CHECK(machine.finding("driver for CUDA").severity == Severity::info);
  machine.facts().driver = "525.60.12";
  const Finding old = machine.finding("driver for CUDA");
  CHECK(old.severity == Severity::error);
  CHECK(old.found == "525.60.12 for CUDA 12.8");
  CHECK(old.wanted == "at least 525.60.13");
  CHECK(old.way_out.find("update NVIDIA's driver to 525.60.13 or later") != std::string::npos);
  machine.facts().driver = "550.54.14";
  machine.options.torch_cuda = "13.0";
  CHECK(machine.finding("driver for CUDA").severity == Severity::error);
  machine.options.torch_cuda = "15.0";
  CHECK_FALSE(machine.finding("driver for CUDA").known);
}

TEST_CASE("the driver is read from proc, also where its kernel module is the open one") {
  const HealthyMachine machine;
  CHECK(machine.finding("NVIDIA driver").found == "550.54.14");
  machine.write("proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release\n");
  CHECK(machine.finding("NVIDIA driver").found == "570.86.15");
  machine.write("proc/driver/nvidia/version", "something else\n");
  CHECK_FALSE(machine.finding("NVIDIA driver").known);
}

TEST_CASE("no driver is wrong only where a GPU is asked for") {
  HealthyMachine machine;
  machine.remove("proc/driver");
  CHECK(machine.finding("NVIDIA driver").severity == Severity::info);
  machine.options.needs.gpu = true;
  CHECK(machine.finding("NVIDIA driver").severity == Severity::error);
}

TEST_CASE("a LibTorch for the CPU alone is wrong beside a driver, and not without one") {
  HealthyMachine machine;
  machine.options.torch_cuda.clear();
  CHECK(machine.finding("LibTorch").severity == Severity::warning);
  machine.options.needs.gpu = true;
  CHECK(machine.finding("LibTorch").severity == Severity::error);
  machine.options.needs = {.cpu = true};
  CHECK(machine.finding("LibTorch").severity == Severity::info);
  machine.options.needs = {};
  machine.remove("proc/driver");
  CHECK(machine.finding("LibTorch").severity == Severity::info);
  machine.options.torch_version.clear();
  CHECK_FALSE(machine.finding("LibTorch").known);
}

TEST_CASE("a device module that does not open says why") {
  HealthyMachine machine;
  machine.facts().device_runtime.clear();
  CHECK_FALSE(machine.finding("device module").known);
  machine.facts().no_device = "[device] the CUDA runtime libcudart.so.12 is needed";
  const Finding closed = machine.finding("device module");
  CHECK(closed.severity == Severity::warning);
  CHECK(closed.way_out == machine.facts().no_device);
  machine.remove("proc/driver");
  CHECK(machine.finding("device module").severity == Severity::info);
}

TEST_CASE("the table of findings fits its columns, with every word in it") {
  HealthyMachine machine;
  machine.options.needs = {.gpu = true, .loader_threads = 16, .open_files = 100'000};
  machine.facts().device_runtime.clear();
  machine.facts().no_device = std::string(70, 'x') + " cannot be opened";
  const Findings findings = check_environment(machine.options);
  for (const std::size_t columns : {60U, 80U, 100U, 200U}) {
    const std::string text = environment_text(findings, columns);
    CHECK(widest_line(text) <= columns);
    CHECK(text.find("error") < text.find("warning"));
    CHECK(text.find("cannot be opened") != std::string::npos);
    CHECK(text.find("ulimit -n 100001") != std::string::npos);
  }
}

TEST_CASE("findings are JSON, too, even with a name that is no text") {
  const Findings findings{{.severity = Severity::warning,
                           .what = "data",
                           .found = "on \xff",
                           .wanted = "local",
                           .way_out = "move them"},
                          unknown("swap", "no /proc")};
  const auto list = nlohmann::json::parse(environment_json(findings));
  REQUIRE(list.size() == 2);
  CHECK(list[0]["severity"] == "warning");
  CHECK(list[0]["way_out"] == "move them");
  CHECK(list[0]["known"] == true);
  CHECK(list[1]["known"] == false);
  CHECK(list[1]["found"] == "unknown: no /proc");
}

TEST_CASE("a mount is the innermost above a path, names with blanks included") {
  const HealthyMachine machine;
  const auto& root = machine.options.root;
  CHECK(mount_of("/home/me", root)->type == "ext4");
  CHECK(mount_of("/mnt/share", root)->type == "nfs4");
  CHECK(mount_of("/mnt/share/a/b", root)->source == "server:/export");
  CHECK(mount_of("/mnt/shared", root)->type == "ext4");
  CHECK(mount_of("/with blank/x", root)->type == "cifs");
  machine.write("proc/self/mountinfo", "1 1 8:1 / / rw - ext4 a rw\n2 1 8:2 / / rw - xfs b rw\n");
  CHECK(mount_of("/home", root)->type == "xfs");
  CHECK_FALSE(mount_of("/home", root / "nowhere"));
}

TEST_CASE("a finding of this machine itself needs no root that is made") {
  const headrace::test::TemporaryFolder runs;
  EnvironmentOptions options;
  options.runs = runs.path() / "not" / "yet";
  options.torch_version = "2.11.0";
  const Findings findings = check_environment(options);
  const auto said = [&](std::string_view what) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& f) { return f.what == what && f.known; });
  };
  CHECK(said("open files"));
  CHECK(said("CPU quota"));
  CHECK(said("load by others"));
  CHECK(said("space for runs"));
  CHECK(said("fsync of the runs"));
  CHECK_FALSE(std::filesystem::exists(runs.path() / "not"));
}
