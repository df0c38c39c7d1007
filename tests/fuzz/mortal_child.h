#pragma once

#include <headrace/tests/support/temporary_folder.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include <sys/types.h>

namespace headrace::test {

/// A copy of this process that works on inputs one after the other, and may die of one of them: of
/// a fault in a library that is not ours. The coverage it sees counts for this process. Not
/// thread-safe; this process has one thread.
class MortalChild {
 public:
  /// Gets the name of a file that holds the input, and a number that came with it.
  using Work = std::function<void(const std::string& file, unsigned char number)>;
  explicit MortalChild(Work work);
  ~MortalChild();
  MortalChild(const MortalChild&) = delete;
  MortalChild& operator=(const MortalChild&) = delete;

  enum class End {
    done,
    died,
    slow,   ///< and was killed
    large,  ///< took too much memory, and was killed
  };
  End run(std::span<const std::byte> input, unsigned char number);

  /// What the child that died said on its standard error.
  const std::string& last_words() const noexcept { return last_words_; }

 private:
  void start();
  [[noreturn]] void serve(int requests);
  End wait() const;
  void stop();

  Work work_;
  TemporaryFolder folder_;
  std::string input_name_ = folder_ / "input";
  int input_ = -1;
  int words_ = -1;
  int requests_ = -1;
  pid_t child_ = -1;
  std::span<unsigned char> seen_{};  // the child's coverage counters, in shared memory
  std::string last_words_;
};

}  // namespace headrace::test
