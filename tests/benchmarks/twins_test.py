"""The table of benchmarks/twins/run: ratios, goals, rows of contenders that are missing, and the file.
Needs no package: twins_test.py FOLDER-OF-TWINS."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
import unittest

TWINS = sys.argv.pop(1)
loader = importlib.machinery.SourceFileLoader("run", os.path.join(TWINS, "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)
ROW, FANCY, MAP, MEMORY, GPU, LIGHTNING = run.names("leak")


def figures(rate, wait=0.5):
    return [{"samples_s": rate, "data_wait": wait, "gpu_busy": 0.9}]


def rows_of(job, seen, why):
    return run.compare(argparse.Namespace(job=job), "title", seen, why)


class Table(unittest.TestCase):
    def row(self, rows, section, contender="headrace"):
        found = [r for r in rows if r["section"] == section and r["contender"] == contender]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_goals_are_judged_against_the_slow_way_and_the_best_expert(self):
        rows = rows_of("leak", {"headrace": figures(100, 0.001), ROW: figures(10),
                                FANCY: figures(90), MAP: figures(101), MEMORY: figures(50),
                                LIGHTNING: figures(500)}, {})
        slow = self.row(rows, "title: beside the 11 % job's way")
        self.assertEqual((slow["ratio"], slow["goal"], slow["held"]), (10, 8, True))
        expert = self.row(rows, "title: beside the best expert's")
        self.assertEqual((expert["reference"], expert["held"]), (MAP, False))
        wait = self.row(rows, "title: data wait")
        self.assertEqual((wait["goal_is"], wait["goal_of"], wait["held"]),
                         ("at most", "median", True))
        self.assertNotIn("goal", self.row(rows, "title: data wait", ROW))

    def test_the_table_on_the_device_is_held_against_the_set_on_the_gpu_alone(self):
        seen = {"headrace": figures(1), "headrace, table on the device": figures(30), GPU: figures(20)}
        row = self.row(rows_of("leak", seen, {}), "title: both sets on the GPU",
                       "headrace, table on the device")
        self.assertEqual((row["ratio"], row["held"]), (1.5, True))

    def test_a_missing_contender_keeps_its_row_and_why(self):
        rows = rows_of("jpeg", {"headrace": figures(5), "DALI": []}, {"DALI": "no wheel"})
        self.assertEqual(self.row(rows, "title", "DALI")["missing"], "no wheel")
        self.assertFalse([r for r in rows if "DALI" in r["section"]])

    def test_the_best_expert_is_named_when_all_have_run_alone(self):
        seen = {"headrace": figures(100), ROW: figures(10), FANCY: figures(90), MAP: [], MEMORY: figures(50)}
        rows = rows_of("leak", seen, {})
        self.assertEqual(self.row(rows, "title", MAP)["missing"], "its turn did not come")
        self.assertFalse([r for r in rows if r["section"].endswith("expert's")])

    def test_without_ours_there_is_nothing_to_judge(self):
        rows = rows_of("leak", {"headrace": [], ROW: figures(5)}, {"headrace": "not built"})
        self.assertFalse([r for r in rows if "goal" in r])

    def test_the_file_is_whole_and_a_dry_run_judges_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "figures.json")
            for dry in (False, True):
                row = run.report.beside(run.report.figure("s", "a", "samples/s", [3, 1, 2]),
                                        run.report.figure("s", "b", "samples/s", [1]), 2)
                run.report.write(file, "twins_leak", [row], dry)
                with open(file) as made:
                    kept = json.load(made)
                self.assertEqual((kept["benchmark"], kept["dry"]), ("twins_leak", dry))
                self.assertEqual([kept["rows"][0][k] for k in ("median", "low", "high", "repeats")],
                                 [2, 1, 3, 3])
                self.assertEqual("goal" in kept["rows"][0], not dry)
                self.assertEqual(os.listdir(folder), ["figures.json"])

    def test_what_a_program_says_when_it_fails_is_the_reason(self):
        with self.assertRaisesRegex(RuntimeError, "ended with 7: no GPU"):
            run.start(["sh", "-c", "echo no GPU >&2; exit 7"], 60)
        with self.assertRaisesRegex(RuntimeError, "there is no /no/such"):
            run.start(["/no/such"], 10)
        with self.assertRaisesRegex(RuntimeError, "not done after"):
            run.start(["sleep", "60"], 0.1)


if __name__ == "__main__":
    unittest.main()
