#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::test {

/// What is wrong with a page of ours as XML: a tag that is not closed or closes another, an
/// attribute without quotes, a bare '<' or '&'. Empty: nothing. Of HTML's own it knows the doctype
/// and the content of `<style>`.
inline std::string fault_of_markup(const std::string& page) {
  std::vector<std::string> open;
  std::size_t at = 0;
  const auto where = [&page](std::size_t place) { return ": " + page.substr(place, 80); };
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  const std::string doctype = "<!DOCTYPE html>";
  if (page.starts_with(doctype)) at = doctype.size();
  while (at < page.size()) {
    const char c = page[at];
    if (c == '&') {
      const std::size_t end = page.find(';', at);
      if (end == std::string::npos || end - at > 6) return "bare &" + where(at);
      at = end + 1;
      continue;
    }
    if (c != '<') {
      if (c == '>') return "bare >" + where(at);
      ++at;
      continue;
    }
    const std::size_t begin = at++;
    const bool closes = at < page.size() && page[at] == '/';
    if (closes) ++at;
    const std::size_t name_begin = at;
    while (at < page.size() && is_name(page[at]))
      ++at;
    const std::string name = page.substr(name_begin, at - name_begin);
    if (name.empty()) return "no name" + where(begin);
    bool ends_itself = false;
    for (;;) {  // attributes
      while (at < page.size() && (page[at] == ' ' || page[at] == '\n'))
        ++at;
      if (at >= page.size()) return "no end" + where(begin);
      if (page[at] == '>') break;
      if (page[at] == '/') {
        ends_itself = true;
        ++at;
        continue;
      }
      const std::size_t equals = page.find('=', at);
      if (closes || equals == std::string::npos || page[equals + 1] != '"')
        return "attribute without quotes" + where(begin);
      for (; at < equals; ++at)
        if (!is_name(page[at])) return "no attribute's name" + where(begin);
      const std::size_t end = page.find('"', equals + 2);
      if (end == std::string::npos) return "open quote" + where(begin);
      if (page.substr(equals, end - equals).find('<') != std::string::npos)
        return "< in an attribute" + where(begin);
      at = end + 1;
    }
    ++at;
    if (closes) {
      if (open.empty() || open.back() != name) return "closes another" + where(begin);
      open.pop_back();
    } else if (!ends_itself) {
      open.push_back(name);
      if (name == "style") at = page.find("</style>", at);
      if (at == std::string::npos) return "open style" + where(begin);
    }
  }
  return open.empty() ? std::string() : "not closed: " + open.back();
}

}  // namespace headrace::test
