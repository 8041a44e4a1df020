// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The decoders of every weight encoding of the list, and the dots by them.

#include <kq/dot/dot.hpp>
#include <kq/dot/iq2_xxs.hpp>
#include <kq/dot/iq3_xxs.hpp>
#include <kq/dot/iq4_nl.hpp>
#include <kq/dot/mxfp4.hpp>
#include <kq/dot/nvfp4.hpp>
#include <kq/dot/q1_0.hpp>
#include <kq/dot/q2_0.hpp>
#include <kq/dot/q2_k.hpp>
#include <kq/dot/q3_k.hpp>
#include <kq/dot/q4_0.hpp>
#include <kq/dot/q4_1.hpp>
#include <kq/dot/q4_k.hpp>
#include <kq/dot/q5_0.hpp>
#include <kq/dot/q5_1.hpp>
#include <kq/dot/q5_k.hpp>
#include <kq/dot/q6_k.hpp>
#include <kq/dot/q8_0.hpp>
