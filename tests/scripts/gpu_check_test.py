"""scripts/gpu-check and gpu-report on a build folder whose programs only pretend."""
import contextlib
import datetime
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import zlib
from unittest import mock

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
from gpu_check import claims, main, memory_trial, monitor_trial, outputs, pictures, place, report, results, steps  # noqa: E402

XML = """<?xml version="1.0"?><doctest><TestSuite name="gpu">
    <TestCase name="one &amp; two" filename="/src/tests/{file}" line="1" test_suite="gpu">
{said}      <OverallResultsAsserts successes="3" failures="0" test_case_success="{good}"/>
    </TestCase></TestSuite></doctest>"""

# log.txt of a leak run of two epochs on a processor, as it was written.
TRAIN_LOG = pathlib.Path(__file__).with_name("train-log.txt").read_text()


def row(section, ratio, **more):
    return {"section": section, "contender": "headrace", "unit": "GB/s", "median": 1.0, "ratio": ratio, "goal": 0.95, **more}


class FakeBuild(unittest.TestCase):
    """A folder with programs, shell scripts that print what they are told to."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.build = self.folder / "build"
        self.output = self.folder / "results"
        self.enterContext(mock.patch.object(main, "has_gpu", lambda: True))

    def enterContext(self, context):  # of Python 3.11; 3.9 has it not
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def program(self, path, script):
        file = self.build / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n" + textwrap.dedent(script))
        file.chmod(0o755)

    def run_check(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main.main([*arguments, "--build", str(self.build), "--output", str(self.output)], "usage")
        self.said = said.getvalue()
        return status

    def steps(self):
        return results.read_results([self.output])

    def verdict(self, text):
        return next(v for v in claims.judge_all(self.steps()) if v.claim.startswith(text))

    def benchmark(self, rows, after=""):
        """A device_benchmark that writes these rows to the file behind --json, then does something."""
        content = json.dumps({"benchmark": "device_benchmark", "rows": rows})
        self.program("benchmarks/device/device_benchmark", f"""
            while [ "$1" != --json ]; do shift; done
            cat >"$2" <<'ROWS'\n{content}\nROWS\n{after}""")


class Running(FakeBuild):
    def test_a_figure_above_its_goal_is_held_and_one_below_is_missed(self):
        for ratio, state in ((0.96, "held"), (0.94, "missed")):
            self.benchmark([row("transfer of 29 MB batches, back to back", ratio)])
            self.assertEqual(self.run_check("--step", "device"), 0 if state == "held" else 1)
            self.assertEqual(self.verdict("transfer back to back").state, state)
            self.assertEqual(self.verdict("`DeviceTable`").state, "not run")

    def test_a_share_that_must_be_small_is_judged_from_above(self):
        share = {"goal": 0.01, "goal_is": "at most", "goal_of": "median"}
        for median, state in ((0.009, "held"), (0.011, "missed"), (float("nan"), "missed")):
            self.benchmark([row("transfer of 29 MB batches, behind a step of 900 us: time", None, median=median, **share)])
            self.run_check("--step", "device")
            self.assertEqual(self.verdict("transfer behind").state, state)

    def test_a_step_that_hangs_is_ended_with_its_children_and_keeps_its_rows(self):
        child = self.folder / "child"
        self.benchmark([row("transfer of 29 MB batches, back to back", 0.96), row("device table 128 B", 0.97)], f"sleep 100 & echo $! >{child}; sleep 100")
        quick = [step for step in steps.STEPS if step.name == "device"]
        quick[0] = type(quick[0])(**{**vars(quick[0]), "seconds": 10})
        with mock.patch.object(main, "STEPS", quick):
            started = time.monotonic()
            self.assertEqual(self.run_check(), 1)
            self.assertLess(time.monotonic() - started, 90)
        self.assertEqual(self.steps()["device"]["state"], "timed out")
        self.assertEqual(self.verdict("transfer back to back").state, "held")
        self.assertEqual(self.verdict("`DeviceTable`").state, "not run")  # more of its rows may have been to come
        self.assert_ends(int(child.read_text()))

    def assert_ends(self, pid):
        """Within a minute; nobody may ask for it then, and leave it a zombie."""
        for _ in range(600):
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return
            if state in "ZX":
                return
            time.sleep(0.1)
        self.fail(f"process {pid} goes on")

    def test_a_program_that_dies_fails_its_step_and_says_with_what(self):
        self.benchmark([], "echo out of luck; exit 3")
        self.assertEqual(self.run_check("--step", "device"), 1)
        self.assertIn("ended with 3: out of luck", self.steps()["device"]["why"])
        self.assertEqual(self.verdict("`DeviceTable`").state, "not run")

    def test_a_program_that_is_missing_leaves_its_step_not_run(self):
        self.assertEqual(self.run_check("--step", "device"), 0)
        self.assertEqual(self.steps()["device"]["state"], "not run")
        self.assertIn("is not in", self.verdict("`DeviceTable`").found)

    def test_a_check_that_is_ended_takes_what_runs_with_it_and_says_so(self):
        pid = self.folder / "pid"
        for job in ("kernels_gpu", "transfer_device"):
            wait = f"echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 60" if job == "transfer_device" else ""
            self.program(f"tests/{job}/headrace_{job}_tests", wait)
        check = subprocess.Popen([sys.executable, "-B", str(SCRIPTS / "gpu-check"), "--cpu", "--step", "sanitizer",
                                  "--build", str(self.build), "--output", str(self.output)], stdout=subprocess.DEVNULL)
        while not pid.exists() and check.poll() is None:
            time.sleep(0.05)
        check.terminate()
        self.assertEqual(check.wait(), 143)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        self.assertEqual(self.steps()["sanitizer"]["state"], "unfinished")
        self.assertEqual(len(self.steps()["sanitizer"]["commands"]), 1)

    def test_parts_that_run_apart_come_together(self):
        self.benchmark([row("device table 128 B", 0.97)])
        self.run_check("--step", "device")
        self.program("tests/transfer/headrace_transfer_device_tests",
                     f"cat <<'X'\n{XML.format(file='hardware_test.cpp', said='', good='true')}\nX")
        self.run_check("--step", "tests")
        self.assertEqual(self.verdict("`DeviceTable`").state, "held")
        self.assertEqual(self.verdict("transferred bytes").state, "held")

    def test_every_precision_of_both_jobs_is_trained_and_its_logs_decide(self):
        self.program("apps/headrace", f"""
            for word; do case $word in runs=*) run=${{word#runs=}}/run;; esac; done
            mkdir -p $run && cat >$run/log.txt <<'X'\n{TRAIN_LOG}\nX""")
        with mock.patch.object(steps.Step, "missing", lambda step, context: ""):  # the data
            self.run_check("--step", "training")
        labels = [command["label"] for command in self.steps()["training"]["commands"]]
        self.assertEqual(labels, ["glaucoma fp32", "glaucoma bf16", "leak fp32", "leak bf16"])
        self.assertEqual(self.verdict("both jobs").state, "held")
        self.assertIn("leak bf16: step 302 ms", self.verdict("both jobs").found)

    def test_the_program_understands_every_setting_of_the_trainings(self):
        program = pathlib.Path(os.environ.get("HEADRACE_PROGRAM", ""))
        if not program.is_file():
            self.skipTest("needs the program headrace, in HEADRACE_PROGRAM")
        self.program("apps/headrace", f'exec "{program}" "$@"')
        for cpu in (False, True):
            context = steps.Context(place.Place(self.build), self.folder, cpu)
            for command in steps.trainings(context) + steps.volumes(context) + steps.retinopathy(context) + steps.camouflage("8")(context):
                self.assertEqual(command.argv[1], "train")
                bench = [command.argv[0], "bench", "loader", *command.argv[2:], "--batches", "1"]  # as strict, without LibTorch
                asked = subprocess.run(bench, capture_output=True, text=True)
                self.assertNotRegex(asked.stderr, r"\[config\](?!.* must be a folder that is there)")  # data or a GPU may be missing

    def test_without_a_gpu_nothing_runs_and_the_forms_for_the_cpu_prove_nothing(self):
        self.benchmark([row("device table 128 B", 0.97)])
        with mock.patch.object(main, "has_gpu", lambda: False):
            self.assertEqual(self.run_check(), 7)
            self.assertFalse(self.output.exists())
            self.assertEqual(self.run_check("--cpu", "--step", "device"), 0)
        self.assertEqual(self.verdict("`DeviceTable`").state, "not run")

    def test_the_dry_run_names_every_step_with_its_limit_and_runs_none(self):
        self.benchmark([], f"touch {self.folder}/ran")
        self.assertEqual(self.run_check("--dry-run"), 0)
        for step in steps.STEPS:
            self.assertRegex(self.said, rf"(?m)^  {step.name} +{step.seconds} s")
        self.assertFalse((self.folder / "ran").exists())

    def test_no_part_is_longer_than_five_minutes(self):
        for part in {step.part for step in steps.STEPS}:
            self.assertLessEqual(sum(step.seconds for step in steps.STEPS if step.part == part), steps.PART_SECONDS)


# A program that trains in memory of 1 GiB and 16 MiB a row, with the faults that its environment names.
TRAINING = '''
import json, os, pathlib, re, sys
faults = os.environ.get("FAULTS", "").split()
line = " ".join(sys.argv)
def setting(key, otherwise):
    found = re.findall(rf"{key}[ =]([0-9.]+)(GiB)?", line)[-1:]  # the last one holds
    return int(float(found[0][0]) * (2**30 if found[0][1] else 1)) if found else otherwise
def needed(rows):
    return 2**30 + 2**24 * rows
batch = setting("training.batch", 0)
def tried(rows, fits):
    return {"rows": rows, "steps": 50, "bytes": needed(rows), "fits": fits, "ended": ""}
if sys.argv[1] == "profile-memory":
    slots = 2**26
    rows = setting("--card", 0) // 2**24 - 64
    stage = {"device_bytes": needed(batch) + slots, "host_bytes": needed(batch), "parts": {"device": {"slots of loaders": slots}},
             "measured": {"points": [{"rows": r, "training_bytes": needed(r), "evaluation_bytes": 0} for r in (batch, batch // 4)]},
             "largest": tried(rows, "largest" not in faults), "next": tried(rows + 64, "next" in faults), "verdict": "enough"}
    if "all_rows" in faults:
        del stage["next"]
    pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps({"stages": [stage]}))
    sys.exit(3 if "profile" in faults else 0)
limit = setting("memory.(?:gpu|limit)", 2**60)
measured = "memory.measure=false" not in line
staged = "training.stages=" in line
if measured and limit < needed(batch) and ("second" if staged else "refused") not in faults:
    print("stage whole must fit" if staged else "stage train must fit")
    sys.exit(4)
run = pathlib.Path(re.search(r" runs=(\\S+)", line)[1]) / str(len(line))
run.mkdir(parents=True)
peaks = [2**30 + 2**25 * (epoch if "grows" in faults else epoch == 0) for epoch in range(setting("training.epochs", 0))]
(run / "metrics.csv").write_text("epoch,training_tensors_peak_bytes\\n" + "".join(f"{i},{peak}\\n" for i, peak in enumerate(peaks)))
if not measured and limit < needed(batch):
    print("step 1 ran out; the step is done again with 2 micro-batches" if "halved" not in faults else "as it was")
peak = needed(batch) * (1.06 if "peak" in faults else 1.04)
print(f"goal gpu_memory: at most {limit / 2**30:.2f} GiB, reserved {peak / 2**30:.2f} GiB: pass")
sys.exit(4 if limit < needed(batch) and measured else 0)
'''


class Memory(FakeBuild):
    FAULTS = {"peak of a run": "peak", "the batch of": "largest next all_rows", "limits,": "refused", "a batch of half": "halved",
              "peaks over ten": "grows", "a second stage": "second"}

    def setUp(self):
        super().setUp()
        fake = self.folder / "training.py"
        fake.write_text(TRAINING)
        self.program("apps/headrace", f'exec "{sys.executable}" -B "{fake}" "$@"')
        self.enterContext(mock.patch.dict(os.environ, {"HEADRACE_PYTHON": sys.executable}))
        self.enterContext(mock.patch.object(steps, "RECORDS", (4, 4)))

    def states(self, card="16", *faults):
        """Of the claims about that card, by how they begin."""
        with mock.patch.dict(os.environ, {"FAULTS": " ".join(faults)}):
            self.run_check("--step", "memory_16")
        return {begins: verdict.state for begins in self.FAULTS for verdict in claims.judge_all(self.steps())
                if verdict.claim.startswith(begins) and f"of {card} GiB" in verdict.claim}

    def test_what_came_as_planned_is_held_on_the_card_that_was_emulated(self):
        self.assertEqual(list(self.states().values()), ["held"] * len(self.FAULTS))
        self.assertEqual(list(self.states("8").values()), ["not run"] * len(self.FAULTS))
        labels = [command["label"] for command in self.steps()["memory_16"]["commands"]]
        self.assertEqual(labels, ["memory 16 resnet18", "memory 16 unet"])

    def test_each_fault_of_the_program_misses_its_own_claim(self):
        for begins, faults in self.FAULTS.items():
            for fault in faults.split():
                found = self.states("16", fault)
                self.assertEqual(found.pop(begins), "not run" if fault == "all_rows" else "missed", fault)
                self.assertEqual(list(found.values()), ["held"] * (len(self.FAULTS) - 1), fault)

    def test_a_profile_that_fails_and_a_network_that_did_not_come_decide_nothing(self):
        self.assertEqual(list(self.states("16", "profile").values()), ["not run"] * len(self.FAULTS))
        self.assertIn("profile-memory must end with 0, got 3", self.steps()["memory_16"]["why"])
        with mock.patch.object(steps, "NETWORKS", ("unet",)):
            self.assertEqual(list(self.states().values()), ["not run"] * len(self.FAULTS))

    def test_the_program_understands_every_setting_of_the_trials(self):
        program = pathlib.Path(os.environ.get("HEADRACE_PROGRAM", ""))
        if not program.is_file():
            self.skipTest("needs the program headrace, in HEADRACE_PROGRAM")
        for network in memory_trial.NETWORKS:
            for cpu in ([], ["--cpu"]):
                trial = memory_trial.Trial(memory_trial.arguments(
                    ["--headrace", str(program), "--configs", str(SCRIPTS.parent / "configs"), "--network", network, "--card", "1GiB",
                     "--records", "16", "--work", str(self.folder / "trial"), "--json", str(self.folder / "trial.json"), *cpu]))
                argv = [program, "bench", "loader", trial.config, "--batches", "1"]
                for setting in [*trial.settings, f"{trial.limit_key}=1000000000", f"{trial.goal_key}=1000000000", "memory.measure=false",
                                "training.evaluation_batch=8", f"training.epochs={memory_trial.EPOCHS}", trial.stages(2)]:
                    argv += ["--set", setting]
                asked = subprocess.run(argv, capture_output=True, text=True)
                self.assertNotIn("[config]", asked.stderr)  # a GPU may be missing

    def test_the_pictures_are_such_and_their_squares_have_masks(self):
        picture, mask, _ = pictures.drawn(3)
        for data, channels in ((picture, 3), (mask, 1)):
            self.assertEqual((data[:8], struct.unpack(">II", data[16:24])), (b"\x89PNG\r\n\x1a\n", (48, 48)))
            size = struct.unpack(">I", data[33:37])[0]
            self.assertEqual(len(zlib.decompress(data[41:41 + size])), 48 * (1 + 48 * channels))
        self.assertEqual(data[41 - 4:41], b"IDAT")


class Monitoring(FakeBuild):
    """Twenty seconds of a GPU as the program and nvidia-smi tell of it."""
    CELLS = {"memory.used": "5120", "memory.total": "81559", "utilization.gpu": "90", "temperature.gpu": "61", "power.draw": "400.00",
             "clocks.sm": "1755", "clocks.mem": "1593"}
    SAID = {"memory_used_bytes": 5120 * 2**20, "memory_total_bytes": 81559 * 2**20, "busy_share": 0.9, "temperature_c": 61, "power_w": 400,
            "sm_clock_mhz": 1755, "memory_clock_mhz": 1593}
    BEGIN = 1790000000.25

    def setUp(self):
        super().setUp()
        self.ours, self.theirs, said = self.folder / "ours.jsonl", self.folder / "theirs.csv", self.folder / "said"
        self.program("apps/headrace", f"""
            while [ "$1" != --output ]; do shift; done
            until rm {said} 2>/dev/null; do sleep .02; done
            cat {self.ours} >"$2" """)
        self.program("tools/nvidia-smi", f"cat {self.theirs}; touch {said}; exec sleep 60")
        self.enterContext(mock.patch.dict(os.environ, {"PATH": f"{self.build / 'tools'}:{os.environ['PATH']}"}))
        self.enterContext(mock.patch.object(place.Place, "python", lambda place: sys.executable))

    def nvidia_smi(self, seconds=20, index=0, name="NVIDIA H100 80GB HBM3", **cells):
        values = [{**self.CELLS, **cells}[figure.field] for figure in monitor_trial.FIGURES]
        times = [datetime.datetime.fromtimestamp(self.BEGIN + half / 2) for half in range(2 * seconds + 1)]
        return "".join(", ".join([at.strftime("%Y/%m/%d %H:%M:%S.%f")[:-3], str(index), name, *values]) + "\n" for at in times)

    def monitor(self, seconds=20, index=0, name="NVIDIA H100 80GB HBM3", **said):
        gpu = {"index": index, "name": name, **{key: value for key, value in {**self.SAID, **said}.items() if value is not None}}
        times = [datetime.datetime.fromtimestamp(self.BEGIN + at, datetime.timezone.utc) for at in range(seconds + 1)]
        return "".join(json.dumps({"time": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", "gpus": [gpu]}) + "\n" for at in times)

    def state(self, ours, theirs):
        rows = monitor_trial.compare(monitor_trial.of_monitor(ours), monitor_trial.of_nvidia_smi(theirs))
        outcome = {"step": "monitor", "state": "done", "why": "", "commands": [{"label": "monitor", "exit": 0, "rows": rows}]}
        found = next(v for v in claims.judge_all({"monitor": outcome}) if v.claim.startswith("`headrace monitor`"))
        return found.state, found.found

    def test_what_both_say_alike_is_held_and_each_figure_that_is_off_is_missed_by_its_name(self):
        self.assertEqual(self.state(self.monitor(), self.nvidia_smi())[0], "held")
        near = {"memory_used_bytes": 5200 * 2**20, "busy_share": 0.81, "temperature_c": 62.9, "power_w": 361, "sm_clock_mhz": 1600}
        self.assertEqual(self.state(self.monitor(**near), self.nvidia_smi())[0], "held")
        for what, off in (("memory used", {"memory_used_bytes": 5000 * 2**20}), ("memory in all", {"memory_total_bytes": 78000 * 2**20}),
                          ("busy", {"busy_share": 0.79}), ("temperature", {"temperature_c": 63.5}), ("power", {"power_w": 355}),
                          ("SM clock", {"sm_clock_mhz": 1500}), ("memory clock", {"memory_clock_mhz": 1400}), ("name", {"name": "another"}),
                          ("power", {"power_w": None})):
            state, found = self.state(self.monitor(**off), self.nvidia_smi())
            self.assertEqual((state, f"GPU 0: {what}," in found), ("missed", True), found)

    def test_means_of_the_same_seconds_are_compared(self):
        before = self.nvidia_smi(seconds=12, **{"utilization.gpu": "0"}).splitlines(keepends=True)
        later = self.nvidia_smi().splitlines(keepends=True)
        late = "".join(line for line, at in zip(later, range(len(later))) if at > 2 * 8)
        self.assertEqual(self.state(self.monitor(), late)[0], "held")  # twelve seconds are left
        self.assertEqual(self.state(self.monitor(), "".join(before[:17]) + late)[0], "missed")  # idle in eight of them
        self.assertEqual(self.state(self.monitor(seconds=9), self.nvidia_smi())[0], "not run")

    def test_figures_that_nvidia_smi_does_not_tell_decide_nothing_and_torn_lines_are_left_out(self):
        theirs = self.nvidia_smi(**{"power.draw": "[N/A]", "temperature.gpu": "[N/A]"})
        self.assertEqual(self.state(self.monitor(power_w=None, temperature_c=None) + '{"time": "20', theirs + "2026/09/21 16:1")[0], "held")

    def test_a_gpu_that_only_one_of_them_sees_is_missed_and_two_are_compared_apart(self):
        both = self.nvidia_smi() + self.nvidia_smi(index=1, name="NVIDIA L4")
        self.assertEqual(self.state(self.monitor(), both)[0], "missed")
        self.assertEqual(self.state(self.monitor() + self.monitor(index=1, name="NVIDIA L4"), both)[0], "held")
        self.assertIn("GPU 1: name", self.state(self.monitor() + self.monitor(index=1), both)[1])

    def test_the_step_asks_both_and_keeps_what_they_said(self):
        self.ours.write_text(self.monitor())
        self.theirs.write_text(self.nvidia_smi())
        self.assertEqual(self.run_check("--step", "monitor"), 0, self.said)
        self.assertEqual(self.verdict("`headrace monitor`").state, "held")
        self.assertIn("61 C, nvidia-smi: 61", (self.output / "logs" / "monitor-0.log").read_text())
        self.ours.write_text(self.monitor(busy_share=0.1))
        self.assertEqual(self.run_check("--step", "monitor"), 1)

    def test_without_nvidia_smi_the_step_does_not_run(self):
        (self.build / "tools" / "nvidia-smi").unlink()
        if steps.find_tool("nvidia-smi"):
            self.skipTest("nvidia-smi is on this machine")
        self.run_check("--step", "monitor")
        self.assertIn("nvidia-smi is not on this machine", self.steps()["monitor"]["why"])


class Reading(unittest.TestCase):
    def test_a_case_that_skips_is_no_proof(self):
        good = outputs.doctest_cases(XML.format(file="a_test.cpp", said="", good="true"))
        self.assertEqual(good, [{"name": "one & two", "file": "a_test.cpp", "passed": True, "skipped": ""}])
        skipped = outputs.doctest_cases(XML.format(file="a_test.cpp", said="SKIPPED: needs a GPU\n", good="true"))
        self.assertEqual(skipped[0]["skipped"], "needs a GPU")
        self.assertFalse(outputs.doctest_cases(XML.format(file="a_test.cpp", said="", good="false"))[0]["passed"])

    def test_cases_that_were_not_asked_for_are_none(self):
        other = '<TestCase name="of the host" filename="a_test.cpp" line="9" skipped="true"/>\n    <TestCase name="one'
        cases = outputs.doctest_cases(XML.format(file="a_test.cpp", said="", good="true").replace('<TestCase name="one', other))
        self.assertEqual([case["name"] for case in cases], ["one & two"])

    def test_a_program_that_dies_among_its_cases_leaves_them_open(self):
        died = XML.format(file="a_test.cpp", said="", good="true").split("</TestSuite>")[0]
        self.assertIn("in the midst", outputs.doctest_cases(died)[-1]["skipped"])

    def test_a_case_that_never_ended_has_not_passed(self):
        broken = XML.format(file="a_test.cpp", said="", good="true").split("<Overall")[0]
        self.assertFalse(outputs.doctest_cases(broken)[0]["passed"])

    def test_findings_of_the_sanitizer_are_counted_and_silence_is_not_none(self):
        self.assertEqual(outputs.sanitizer_findings("========= ERROR SUMMARY: 0 errors"), 0)
        self.assertEqual(outputs.sanitizer_findings("========= ERROR SUMMARY: 1 error"), 1)
        self.assertEqual(outputs.sanitizer_findings("========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)"), 2)
        self.assertIsNone(outputs.sanitizer_findings("Segmentation fault"))

    def test_step_budgets_are_read_from_a_log_as_the_program_writes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder)
            self.assertEqual(outputs.step_budgets(runs), [])
            (runs / "leak-1").mkdir()
            (runs / "leak-1" / "log.txt").write_text(TRAIN_LOG)
            self.assertEqual(outputs.step_budgets(runs), ["step 326 ms = data 0 + copy 1 + compute 325 + other 0",
                                                          "step 302 ms = data 0 + copy 0 + compute 302 + other 0"])

    def test_the_profilers_table_is_read_behind_what_the_program_prints(self):
        said = ('==PROF== Connected\n"ID","Kernel Name","gpu__time_duration.sum",'
                '"dram__throughput.avg.pct_of_peak_sustained_elapsed"\n"","","us","%"\n'
                '"0","normalize_rows(Task)","12.5","91.0"\n')
        for found, wanted in ((said, 12.5), (said.replace('"us"', '"ns"').replace('"12.5"', '"12,500.00"'), 12.5),
                              (said.replace('"us"', '"msecond"'), 12500.0)):
            self.assertEqual(outputs.profiler_rows(found)[0]["contender"], "normalize_rows")
            self.assertEqual(outputs.profiler_rows(found)[0]["median"], wanted)

    def test_a_profiler_that_shows_nothing_says_why(self):
        said = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n"
        self.assertIn("ERR_NVGPUCTRPERM", outputs.profiler_rows(said, "gather")[0]["missing"])


class Judging(unittest.TestCase):
    def step(self, name, *commands, state="done"):
        return {name: {"step": name, "part": 1, "title": name, "state": state, "why": "", "cpu_form": False, "seconds": 1,
                       "date": "2026-01-01", "commit": "abc", "commands": list(commands)}}

    def state(self, text, found):
        return next(v.state for v in claims.judge_all(found) if v.claim.startswith(text))

    def test_a_finding_of_the_sanitizer_misses_and_an_unread_one_decides_nothing(self):
        for findings, state in ((0, "held"), (2, "missed"), (None, "not run")):
            found = self.step("sanitizer", *self.looked_at(findings=findings))
            self.assertEqual(self.state("compute-sanitizer memcheck", found), state)
        self.assertEqual(self.state("compute-sanitizer racecheck", found), "not run")

    def looked_at(self, **last):
        """Programs under memcheck; the last of them as told."""
        case = {"name": "n", "file": "f.cpp", "passed": True, "skipped": ""}
        programs = [{"label": f"memcheck {name}", "exit": 0, "findings": 0, "cases": [case]} for name in steps.SANITIZED]
        return programs[:-1] + [{**programs[-1], **last}]

    def test_no_findings_in_cases_that_did_not_run_or_did_not_end_decide_nothing(self):
        skipped = {"name": "n", "file": "f.cpp", "passed": True, "skipped": "needs a GPU"}
        for wrong in ({"cases": []}, {"cases": [skipped]}, {"exit": 1}, {"exit": None}):
            found = self.step("sanitizer", *self.looked_at(**wrong))
            self.assertEqual(self.state("compute-sanitizer memcheck", found), "not run")
        found = self.step("sanitizer", *self.looked_at()[:-1], state="timed out")
        self.assertEqual(self.state("compute-sanitizer memcheck", found), "not run")

    def measured(self, exit_status, *sections, **missing):
        rows = [{**row(section, 0.99), "goal": 0.9} for section in sections]
        rows += [{"section": section, "contender": "headrace", "missing": why} for section, why in missing.items()]
        return {"label": "m", "exit": exit_status, "rows": rows}

    def test_a_benchmark_that_ended_early_holds_only_what_was_behind_it(self):
        short, long = "transfer of 29 MB batches, back to back", "transfer of 500 MB batches, back to back"
        between, behind = "transfer of 29 MB batches, behind a step", "normalize 500 MB"
        for exit_status, sections, state in ((0, (short, long), "held"), (None, (short, between), "not run"),
                                             (-11, (short, between), "not run"), (None, (short, long, behind), "held")):
            found = self.step("device", self.measured(exit_status, *sections), state="done" if exit_status == 0 else "failed")
            self.assertEqual(self.state("transfer back to back", found), state)
        found = self.step("scaling", self.measured(None, "JPEG, 16 threads", "rows, 16 threads"), state="timed out")
        self.assertEqual(self.state("loader on 16 threads", found), "not run")  # the chunks were to come

    def test_a_section_of_ours_that_broke_off_is_not_held_by_what_it_had(self):
        found = self.step("device", self.measured(7, "transfer of 29 MB batches, back to back", transfer="no memory"), state="failed")
        self.assertEqual(self.state("transfer back to back", found), "not run")
        self.assertIn("no memory", next(v.found for v in claims.judge_all(found) if v.claim.startswith("transfer back")))

    def test_a_precision_of_ours_that_is_missing_is_not_held_by_the_other_and_the_networks_are_apart(self):
        half = ": half precision beside fp32"
        rows = [{**row(f"{network}, batch of 64, on a GPU{half}", 2.0), "goal": 1.05} for network in ("resnet50", "leak_cnn")]
        missing = {"section": f"resnet50, batch of 64, on a GPU{half}", "contender": "headrace", "missing": "fp16: no memory"}
        for lost, state in (([], "held"), ([missing], "not run")):
            found = self.step("mechanics", {"label": "m", "exit": 0, "rows": rows + lost})
            self.assertEqual(self.state("bf16 and fp16 beside fp32: ResNet-50", found), state)
            self.assertEqual(self.state("bf16 and fp16 beside fp32: the leak job", found), "held")
        rows[1]["ratio"] = 0.9
        found = self.step("mechanics", {"label": "m", "exit": 0, "rows": rows})
        self.assertEqual(self.state("bf16 and fp16 beside fp32: the leak job", found), "missed")

    def test_twins_that_ended_early_hold_what_they_compared(self):
        found = self.step("twin_leak", self.measured(None, "leak job: beside the best expert's"), state="timed out")
        self.assertEqual(self.state("leak job at batch 8192 beside an expert", found), "held")

    def test_a_wait_for_data_is_held_against_its_share_of_the_last_step(self):
        for exit_status, budgets, state in ((0, ["step 200 ms = data 9 + copy 0", "step 200 ms = data 1 + copy 0"], "held"),
                                            (0, ["step 200 ms = data 2 + copy 0"], "missed"), (0, [], "missed"),
                                            (1, ["step 200 ms = data 0 + copy 0"], "missed")):
            found = self.step("volumes", {"label": "volumes", "exit": exit_status, "budgets": budgets, "epochs": 2})
            self.assertEqual(claims.by_data_wait("volumes", 0.01)(found)[0], state)
        self.assertEqual(claims.by_data_wait("volumes", 0.01)({})[0], "not run")

    def test_the_peak_of_tensors_is_read_from_the_rows_of_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder)
            self.assertIsNone(outputs.tensor_peak(runs))
            (runs / "run").mkdir()
            (runs / "run" / "metrics.jsonl").write_text('{"step": 1}\n{"training_tensors_peak_bytes": 7, "tensors_peak_bytes": 9}\n')
            self.assertEqual(outputs.tensor_peak(runs), 9)

    def test_a_peak_is_held_against_its_limit(self):
        for exit_status, peak, state in ((0, 15e9, "held"), (0, 16e9, "missed"), (0, None, "missed"), (4, 1e9, "missed")):
            found = self.step("retinopathy", {"label": "retinopathy", "exit": exit_status, "budgets": [], "peak": peak})
            self.assertEqual(claims.by_peak("retinopathy", 15.29e9)(found)[0], state)
        self.assertEqual(claims.by_peak("retinopathy", 15.29e9)({})[0], "not run")

    def test_a_training_without_budget_or_with_an_error_misses(self):
        two = ["step 1 ms", "step 1 ms"]
        for exit_status, budgets, state in ((0, two, "held"), (0, two[:1], "missed"), (0, [], "missed"), (5, two, "missed"),
                                            (None, [], "not run")):
            found = self.step("training", {"label": "leak", "exit": exit_status, "budgets": budgets, "epochs": 2},
                              state="done" if exit_status is not None else "timed out")
            self.assertEqual(self.state("both jobs", found), state)

    def test_one_failed_case_misses_and_one_skipped_case_leaves_open(self):
        case = {"name": "n", "file": "normalize_test.cpp", "passed": True, "skipped": ""}
        for more, state in (({}, "held"), ({"passed": False}, "missed"), ({"skipped": "needs a GPU"}, "not run")):
            found = self.step("tests", {"label": "t", "exit": 0, "cases": [case, {**case, **more}]})
            self.assertEqual(self.state("device form of `Normalize`", found), state)

    def test_cases_of_one_file_do_not_stand_for_those_of_another(self):
        cases = [{"name": "n", "file": file, "passed": True, "skipped": ""} for file in ("gather_test.cpp", "device_table_test.cpp")]
        for seen, state in ((cases, "held"), (cases[:1], "not run")):
            found = self.step("tests", {"label": "t", "exit": 0, "cases": seen})
            self.assertEqual(self.state("gather kernel", found), state)

    def test_every_file_whose_cases_decide_is_there(self):
        tests = SCRIPTS.parent / "tests"
        named = re.findall(r'"(\w+_test\.cpp)"', (SCRIPTS / "gpu_check" / "claims.py").read_text())
        gone = [name for name in named if not any(tests.rglob(name))]
        self.assertEqual(gone, [])
        self.assertTrue(any('"gpu malformed"' in file.read_text() for file in tests.glob("*/device_malformed_test.cpp")))
        for program in steps.SANITIZED:
            name = re.escape(program[len("headrace_"):-len("_tests")])
            self.assertTrue(any(re.search(rf"headrace_test\({name}\b", file.read_text()) for file in tests.glob("*/CMakeLists.txt")))

    def test_the_kernels_to_be_profiled_are_found_by_name(self):
        names = " ".join(re.findall(r"\b(\w+)\(const __grid_constant__", " ".join(
            file.read_text() for room in ("augment", "loaders") for file in (SCRIPTS.parent / room).rglob("*.cu"))))
        for part in steps.PROFILED.values():
            self.assertIn(part, names)

    def test_a_contender_that_is_missing_keeps_its_row_and_decides_nothing(self):
        rows = [{"section": "leak job: beside the 11 % job's way", "contender": "h5py", "missing": "h5py is not installed", "goal": 8}]
        found = self.step("twin_leak", {"label": "t", "exit": 0, "rows": rows})
        verdict = next(v for v in claims.judge_all(found) if "11 %" in v.claim)
        self.assertEqual((verdict.state, verdict.found), ("not run", "h5py is not installed"))
        self.assertIn("missing: h5py is not installed", report.page(found))


class Reporting(unittest.TestCase):
    def test_the_page_in_docs_is_what_its_json_says(self):
        self.assertEqual(report.main(["--check"], ""), 0)

    def test_results_become_a_page_and_a_cpu_form_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            page, kept = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "kept.json"
            with mock.patch.object(report, "PAGE", page), mock.patch.object(report, "KEPT", kept), \
                    contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                step = Judging().step("device", {"label": "d", "exit": 0, "rows": [row("device table 128 B", 0.5)]})
                step["device"]["commands"][0]["machine"] = {"gpu": "a card"}
                given = pathlib.Path(folder) / "all.json"
                given.write_text(json.dumps({"steps": step}))
                self.assertEqual(report.main([str(given)], ""), 0)
                self.assertIn("| `DeviceTable` beside its gather kernel alone | >= 0.90 | missed | 1 figure, the worst 0.5", page.read_text())
                self.assertIn("- gpu: a card", page.read_text())
                self.assertEqual(report.main(["--check"], ""), 0)
                page.write_text(page.read_text().replace("missed", "held"))
                self.assertEqual(report.main(["--check"], ""), 1)
                step["device"]["cpu_form"] = True
                self.assertIn("Nothing here has been measured yet", report.page(step))
                self.assertEqual(report.main([str(pathlib.Path(folder) / "none")], ""), 2)


if __name__ == "__main__":
    os.environ.pop("HEADRACE_PYTHON", None)
    unittest.main()
