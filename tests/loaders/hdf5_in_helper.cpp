// With HEADRACE_TEST_HDF5_HELPER set, these tests leave the HDF5 library to a helper process.
#include <headrace/loaders/hdf5/hdf5_helper.h>

#include <cstdlib>

namespace {

const bool library_in_helper = [] {
  const bool wanted = std::getenv("HEADRACE_TEST_HDF5_HELPER") != nullptr;
  headrace::use_hdf5_helper(wanted);
  return wanted;
}();

}  // namespace
