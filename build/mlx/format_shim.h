// mlx-c calls std::format, which libstdc++ has only since gcc 13. Force-included for older compilers, this
// lends it the header-only form of fmt. C translation units see nothing.
#pragma once
#ifdef __cplusplus
#define FMT_HEADER_ONLY
#include <fmt/format.h>
namespace std {
using fmt::format;
}
#endif
