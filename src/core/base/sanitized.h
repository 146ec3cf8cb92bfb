/* sanitized - whether AddressSanitizer is built in: it lays out memory of its own, which no
 * limit may count, and takes the signals of a crash. */
#ifndef ML_CORE_SANITIZED_H
#define ML_CORE_SANITIZED_H

#if defined __SANITIZE_ADDRESS__
#define ML_SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define ML_SANITIZED 1
#endif
#endif
#ifndef ML_SANITIZED
#define ML_SANITIZED 0
#endif

#endif
