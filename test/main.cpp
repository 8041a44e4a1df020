// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_MAIN
#include "catch.hpp"
