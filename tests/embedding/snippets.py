#!/usr/bin/env python3
"""Makes a test of a page: every block ```cpp becomes one test case, so that page and test cannot
differ. A block ```cpp prelude goes before all of them; `<!-- check: ... -->` after a block is added
to its end, unseen on the page.

usage: snippets.py PAGE.md OUT.cpp
"""
import re
import sys

BLOCK = re.compile(r"^```cpp( prelude)?\n(.*?)^```\n(?:<!-- check: (.*?) -->)?", re.M | re.S)


def main():
    page, out = sys.argv[1:]
    text = open(page, encoding="utf-8").read()
    prelude, cases = [], []
    for match in BLOCK.finditer(text):
        is_prelude, code, check = match.groups()
        line = text.count("\n", 0, match.start()) + 2
        if is_prelude:
            prelude.append(f'#line {line} "{page}"\n{code}')
            continue
        if not check:
            sys.exit(f"{page}:{line}: a block without a check proves nothing")
        heading = re.findall(r"^## (.*)$", text[: match.start()], re.M)[-1]
        cases.append(
            f'#line 1 "tests/embedding/from_dataloader_test.cpp"\n'  # by which a test is chosen
            f'TEST_CASE("the page\'s block of line {line} runs: {heading}") {{\n'
            f'#line {line} "{page}"\n{code}{check}\n}}\n'
        )
    if not cases:
        sys.exit(f"{page}: no block of code found")
    head = "#include <algorithm>\n#include <chrono>\n#include <memory>\n#include <vector>\n\n#include <doctest/doctest.h>\n\n"
    with open(out, "w", encoding="utf-8") as file:
        file.write(head + "\n".join(prelude) + "\n" + "\n".join(cases))


if __name__ == "__main__":
    main()
