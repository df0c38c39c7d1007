"""The runner of scripts finds every wrong expectation, and no right one wrong."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import run_script

HERE = Path(__file__).parent
PROGRAM = f"""#!{sys.executable}
import os, sys, time
print("first line\\nsecond line", file=sys.stdout)
if len(sys.argv) > 2: print(sys.argv)
for name in ("GIVEN", "OF_THE_CALLER"):
    if name in os.environ: print(name + "=" + os.environ[name])
print("warning: one\\nand two", file=sys.stderr)
open("made.json", "w").write('{{"runs": [1, 2]}}')
sys.stdout.flush()
if sys.argv[1] == "sleep": time.sleep(60)
sys.exit(int(sys.argv[1]))
"""


class RunScript(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = Path(self.folder.name, "headrace")
        self.program.write_text(PROGRAM)
        self.program.chmod(0o700)

    def run_script(self, script, seconds=60):
        return subprocess.run([sys.executable, "-B", HERE / "run_script.py", "--program", self.program, script], text=True,
                              stdout=subprocess.PIPE, env=os.environ | {"HEADRACE_SCRIPT_SECONDS": str(seconds), "OF_THE_CALLER": "1"})

    def run_text(self, text, **limit):
        script = Path(self.folder.name, "script.test")
        script.write_text(text)
        return self.run_script(script, **limit)

    def test_every_wrong_expectation_fails_where_it_stands(self):
        done = self.run_script(HERE / "planted.txt")
        lines = (HERE / "planted.txt").read_text().splitlines()
        found = re.findall(r"planted.txt:(\d+): (.*)\n  expected: ", done.stdout)
        for number, name in found:
            self.assertEqual(lines[int(number) - 1].split()[0], name.split()[0])
        self.assertEqual([name for _, name in found], [line[3:] for line in lines if line.startswith("== ")])
        self.assertLessEqual(set(run_script.EXPECTATIONS), {name for _, name in found})
        self.assertEqual(done.stdout.splitlines()[-1], f"0 passed, {len(found)} failed, 0 skipped")
        self.assertEqual(done.returncode, 1)

    def test_what_holds_passes_and_what_is_left_out_is_told(self):
        done = self.run_script(HERE / "right.txt")
        self.assertEqual(done.stdout, "SKIPPED: needs a file\n4 passed, 0 failed, 1 skipped\n")
        self.assertEqual(done.returncode, 0)

    def test_a_failure_shows_the_whole_output(self):
        done = self.run_text("== a name\n$ headrace 3\n")
        self.assertIn("script.test:2: a name\n  expected: exit 0\n  $ headrace 3\n  exit 3, stdout:\n"
                      "first line\nsecond line\n\n  stderr:\nwarning: one\nand two\n", done.stdout)

    def test_a_command_that_never_ends_is_ended(self):
        done = self.run_text("== a name\n$ headrace sleep\nexit 137\n", seconds=5)
        self.assertIn("script.test:2: a name\n  expected: an end within 5 s\n  $ headrace sleep\n  exit 137, stdout:\n",
                      done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_a_script_that_means_nothing_is_no_success(self):
        for text in ("", "# nothing\n", "== a\n$ headrace 0\nouts x\n", "== a\nout x\n", "$ headrace 0\n", "== a\n$ ls\n",
                     "== a\n$ headrace 0\nout\n", "== a\nforeach F none/*\n$ headrace 0\n", "always\n$ headrace 0\n== a\n"):
            done = self.run_text(text)
            self.assertEqual((done.returncode, done.stdout), (1, ""), text)


if __name__ == "__main__":
    unittest.main()
