#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/checkpoint_file.h>

#include "../support/torch_doctest.h"

#include <cstddef>
#include <string>
#include <vector>

using headrace::test::TemporaryFolder;

using namespace headrace::training;

TEST_CASE("files of checkpoints are read and written, and refused as checkpoints are") {
  const TemporaryFolder folder;
  const std::vector<std::byte> bytes(1000, std::byte{7});
  write_file_atomically(folder.path() / "file", bytes);
  CHECK((read_file(folder.path() / "file") == bytes));
  const auto absent = folder.path() / "no" / "file";
  CHECK_THROWS_AS(write_file_atomically(absent, bytes), CheckpointError);
  std::string message;
  try {
    read_file(absent);
  } catch (const CheckpointError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("[checkpoint] " + absent.string()));
}

TEST_CASE("what the verifier of a checkpoint throws goes on as it is, and the old file stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  const std::vector<std::byte> old(3, std::byte{1});
  write_file_atomically(path, old);
  CHECK_THROWS_AS(write_file_atomically(path, std::vector<std::byte>(4),
                                        [](const std::vector<std::byte>& written) {
                                          CHECK(written.size() == 4);
                                          throw CheckpointError("no");
                                        }),
                  CheckpointError);
  CHECK((read_file(path) == old));
}
