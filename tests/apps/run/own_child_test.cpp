#include <headrace/apps/run/own_child.h>

#include <doctest/doctest.h>

using headrace::app::ending_of;

TEST_CASE("what a child says at its end is told from what was said before and behind it") {
  CHECK(ending_of({.status = 4,
                   .output = "[W] x: [torch] slow\nheadrace: [loader] first\n"
                             "headrace: [memory] too much\nterminated\n"}) ==
        "ended with 4: headrace: [memory] too much");
  CHECK(ending_of({.status = 127, .output = "one\nno such library\n"}) ==
        "ended with 127: no such library");
  CHECK(ending_of({.status = 1, .output = ""}) == "ended with 1: it said nothing");
  CHECK(ending_of({.status = 139, .output = "headrace: a line\n"}) == "was ended by signal 11");
}

TEST_CASE("a child that hung is quoted with where") {
  CHECK(ending_of({.status = 134,
                   .output = "headrace: a hang: [train] no stage has finished\n"
                             "  headrace-io-0 is in stage \"read\"\n  headrace-io-1 too\n"
                             "threads of the process:\n"}) ==
        "hung: [train] no stage has finished: headrace-io-0 is in stage \"read\"");
  CHECK(ending_of({.status = 134, .output = "terminate called\n"}) == "was ended by signal 6");
}
