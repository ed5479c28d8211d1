#pragma once

#include <string>

namespace cidery {

/// Appends the code point in UTF-8.
void append_utf8(char32_t code, std::string& out);

/// The simple lower-case mapping of Unicode 13, which the reference tools' Java 17 knows.
char32_t to_lower(char32_t code);

}  // namespace cidery
