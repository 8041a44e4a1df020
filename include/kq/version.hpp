// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Semantic version of kq: the only place that states it. Macros, so that `#if` and CMake can read
/// it.
#define KQ_VERSION_MAJOR 0
#define KQ_VERSION_MINOR 1
#define KQ_VERSION_PATCH 0
