"""The table of benchmarks/volumes/compare.py: python volumes_test.py FOLDER."""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import compare  # noqa: E402


def row(name, *rates):
    return {"name": name, "rates": list(rates), "cpu": [0.01], "peak_mib": 100.0}


class Table(unittest.TestCase):
    def test_ours_is_held_against_the_contender_that_the_goal_names(self):
        rows = [row("headrace", 100, 110, 90), row("batchgeneratorsv2, arrays in memory", 10),
                row("MONAI", 50)]
        lines = list(compare.table("nnunet", rows))
        self.assertIn("10.00 x", lines[2])
        self.assertTrue(lines[2].endswith("goal 10: held"))
        self.assertIn("90.00-110.00", lines[1])
        self.assertNotIn("goal", lines[1] + lines[3])

    def test_a_goal_that_names_nobody_holds_against_all(self):
        lines = list(compare.table("large.zarr", [row("headrace", 10), row("tensorstore", 20)]))
        self.assertTrue(lines[2].endswith("goal 1: missed"))

    def test_who_takes_less_memory_is_named(self):
        rows = [row("headrace", 10), {**row("MONAI", 5), "peak_mib": 99.0}]
        lines = list(compare.table("nnunet", rows))
        self.assertIn("less memory", lines[2])
        self.assertNotIn("less memory", lines[1])

    def test_a_contender_without_figures_says_why(self):
        lines = list(compare.table("nnunet", [row("headrace", 10), {"name": "MONAI", "absent": "no package"}]))
        self.assertIn("not run: no package", lines[2])


if __name__ == "__main__":
    unittest.main()
