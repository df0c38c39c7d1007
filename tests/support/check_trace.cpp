// headrace_check_trace FILE...: what is wrong with files of Chrome's trace events; exit 1 if
// anything is.
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/trace_check.h>

#include <cstdio>
#include <exception>

int main(int count, char** words) {
  bool good = count > 1;
  for (int i = 1; i < count; ++i) {
    try {
      const headrace::test::TraceCheck check(
          nlohmann::json::parse(headrace::test::content_of(words[i])));
      for (const std::string& fault : check.faults())
        std::printf("%s: %s\n", words[i], fault.c_str());
      good = good && check.faults().empty();
      std::printf("%s:", words[i]);
      for (const auto& [phase, events] : check.phases())
        std::printf(" %s %d", phase.c_str(), events);
      std::printf("\n");
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", words[i], error.what());
      good = false;
    }
  }
  return good ? 0 : 1;
}
