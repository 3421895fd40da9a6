/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sanitized.h - is this built with a sanitizer, which makes everything some ten times slower? */
#ifndef SPEC_SANITIZED_H
#define SPEC_SANITIZED_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || __has_feature(thread_sanitizer) ||                \
    __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
