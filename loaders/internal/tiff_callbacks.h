#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include <tiffio.h>

namespace headrace::inline v1::detail {

/// What libtiff calls of a file of ours, which has `place`, `message` and size(). The first error
/// is the cause; the handlers belong to this file alone, not to the process.
template <class File>
struct TiffCallbacks {
  static toff_t seek(thandle_t user, toff_t offset, int from) {
    File& file = *static_cast<File*>(user);
    if (from == SEEK_CUR) offset += file.place;
    if (from == SEEK_END) offset += file.size();
    file.place = offset;
    return offset;
  }
  /// Of a file whose `bytes` are all in memory.
  static tmsize_t read_bytes(thandle_t user, void* to, tmsize_t count) {
    File& file = *static_cast<File*>(user);
    if (count <= 0 || file.place >= file.bytes.size()) return 0;
    const std::size_t left = file.bytes.size() - file.place;
    const std::size_t given = std::min(static_cast<std::size_t>(count), left);
    std::memcpy(to, file.bytes.data() + file.place, given);
    file.place += given;
    return static_cast<tmsize_t>(given);
  }
  static tmsize_t refuse_write(thandle_t, void*, tmsize_t) { return -1; }
  static toff_t size(thandle_t user) { return static_cast<File*>(user)->size(); }
  static int keep_open(thandle_t) { return 0; }
  static int no_map(thandle_t, void**, toff_t*) { return 0; }
  static void no_unmap(thandle_t, void*, toff_t) {}

  static int note_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
    auto* file = static_cast<File*>(user);
    if (!file->message.empty()) return 1;
    char text[256];
    std::vsnprintf(text, sizeof text, format, arguments);
    file->message = text;
    return 1;
  }
  static int ignore_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

  /// Opens it, no single piece of memory larger than `most_bytes` (0: any); null where it cannot
  /// be. Throws std::bad_alloc.
  static TIFF* open(File& file, const char* name, const char* mode, std::size_t most_bytes,
                    TIFFReadWriteProc read, TIFFReadWriteProc write) {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    if (options == nullptr) throw std::bad_alloc();
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, static_cast<tmsize_t>(most_bytes));
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, &file);
    TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_warning, &file);
    TIFF* handle = TIFFClientOpenExt(name, mode, &file, read, write, seek, keep_open, size, no_map,
                                     no_unmap, options);
    TIFFOpenOptionsFree(options);
    return handle;
  }
};

}  // namespace headrace::inline v1::detail
