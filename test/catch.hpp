// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Catch2's include, and what version 3 spells differently.
#include <catch2/catch.hpp>
