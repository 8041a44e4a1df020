// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// What a translation unit saw of the kq that it was compiled with.
struct sight {
    int minor;
    float product;
    std::string text;
};

sight see_this();
sight see_next();
