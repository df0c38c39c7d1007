#pragma once

#include <string>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// For H5Pset_elink_cb: called before the library follows a link into another file, and refuses it.
/// `refused`, a std::string, becomes the file's name.
inline herr_t refuse_external(const char*, const char*, const char* file, const char*, unsigned*,
                              hid_t, void* refused) {
  *static_cast<std::string*>(refused) = file != nullptr ? file : "another file";
  return -1;
}

}  // namespace headrace::inline v1::detail
