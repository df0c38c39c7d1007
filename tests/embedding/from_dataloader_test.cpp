// The blocks of docs/from-dataloader.md, each a test case; snippets.py makes the file.
#include "from_dataloader_snippets.inc"
