#include <headrace/benchmarks/harness/peer.h>
#include <headrace/engine/base/error.h>

#include <string>

#include <doctest/doctest.h>

using headrace::ResourceError;
using headrace::bench::Peer;

TEST_CASE("a peer answers line by line, lines of any length") {
  Peer echo({"cat"});
  Peer beside({"cat"});  // holds nothing of the first, which else would never see its end
  CHECK(echo.ask("one") == "one");
  CHECK(beside.ask("two") == "two");
  CHECK(echo.ask(std::string(100'000, 'x')).size() == 100'000);
  CHECK(echo.ask("") == "");
}

TEST_CASE("a peer that cannot be started or has ended is an error that names it") {
  CHECK_THROWS_WITH_AS(Peer({"/no/such/program"}), doctest::Contains("/no/such/program"),
                       ResourceError);
  Peer ended({"true"});
  CHECK_THROWS_WITH_AS(ended.ask("one"), doctest::Contains("true ended"), ResourceError);
  CHECK_THROWS_AS(ended.ask("two"), ResourceError);
}
