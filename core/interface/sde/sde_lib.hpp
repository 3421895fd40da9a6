/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/sde/sde_lib.hpp - papi_sde::PapiSde, the C++ interface of sde_lib.h, which may be included before it.
 *
 * Header only, C++11. The caller deletes the objects returned by create_*(); nullptr: the event could not be created.
 */
#ifndef PML_SDE_LIB_HPP
#define PML_SDE_LIB_HPP

#include "sde_lib.h"

#include <exception>
#include <new>

namespace papi_sde {

namespace detail {
/* libsde's number of a counter type; other types do not compile. */
template <typename T> struct type_number;
template <> struct type_number<long long int> { static constexpr int value = PAPI_SDE_long_long; };
template <> struct type_number<int> { static constexpr int value = PAPI_SDE_int; };
template <> struct type_number<double> { static constexpr int value = PAPI_SDE_double; };
template <> struct type_number<float> { static constexpr int value = PAPI_SDE_float; };

/* Returns nullptr if the constructor throws, like the rest of the interface. */
template <typename T, typename... Args> T *make(Args... args) {
  try {
    return new T(args...);
  } catch (const std::exception &) {
    return nullptr;
  }
}
} // namespace detail

class PapiSde {
public:
  class CreatedCounter {
  public:
    CreatedCounter(papi_handle_t library, const char *event, int mode) {
      if (papi_sde_create_counter(library, event, mode, &handle_) != SDE_OK) throw std::exception();
    }
    template <typename T> int increment(const T &by) {
      return handle_ ? papi_sde_inc_counter(handle_, static_cast<long long int>(by)) : SDE_EINVAL;
    }
    int reset() {
      return handle_ ? papi_sde_reset_counter(handle_) : SDE_EINVAL;
    }

  private:
    void *handle_ = nullptr;
  };

  class Recorder {
  public:
    Recorder(papi_handle_t library, const char *event, size_t bytes, int (*compare)(const void *, const void *)) {
      if (papi_sde_create_recorder(library, event, bytes, compare, &handle_) != SDE_OK) throw std::exception();
    }
    template <typename T> int record(const T &value) {
      return handle_ ? papi_sde_record(handle_, sizeof(T), &value) : SDE_EINVAL;
    }
    int reset() {
      return handle_ ? papi_sde_reset_recorder(handle_) : SDE_EINVAL;
    }

  private:
    void *handle_ = nullptr;
  };

  class CountingSet {
  public:
    CountingSet(papi_handle_t library, const char *event) {
      if (papi_sde_create_counting_set(library, event, &handle_) != SDE_OK) throw std::exception();
    }
    template <typename T> int insert(const T &element, uint32_t type_id) {
      return insert(sizeof(T), element, type_id);
    }
    template <typename T> int insert(size_t hashable, const T &element, uint32_t type_id) {
      return handle_ ? papi_sde_counting_set_insert(handle_, sizeof(T), hashable, &element, type_id) : SDE_EINVAL;
    }
    template <typename T> int remove(size_t hashable, const T &element, uint32_t type_id) {
      return handle_ ? papi_sde_counting_set_remove(handle_, hashable, &element, type_id) : SDE_EINVAL;
    }

  private:
    void *handle_ = nullptr;
  };

  explicit PapiSde(const char *library) : handle_(papi_sde_init(library)) {}

  template <typename T> int register_counter(const char *event, int mode, T &counter) {
    return papi_sde_register_counter(handle_, event, mode, detail::type_number<T>::value, &counter);
  }

  /* Callbacks return long long int, as in libsde; the parameter is passed by its address. */
  template <typename P> int register_counter_cb(const char *event, int mode, long long int (*callback)(P *), P &param) {
    return papi_sde_register_counter_cb(handle_, event, mode, PAPI_SDE_long_long,
                                        reinterpret_cast<papi_sde_fptr_t>(callback), &param);
  }
  template <typename T, typename P> int register_counter_cb(const char *, int, T (*)(P *), P &) {
    SDE_ERROR("register_counter_cb() takes callbacks that return long long int");
    return SDE_EINVAL;
  }

  int unregister_counter(const char *event) {
    return papi_sde_unregister_counter(handle_, event);
  }
  int describe_counter(const char *event, const char *description) {
    return papi_sde_describe_counter(handle_, event, description);
  }
  int add_counter_to_group(const char *event, const char *group, uint32_t flags) {
    return papi_sde_add_counter_to_group(handle_, event, group, flags);
  }

  CreatedCounter *create_counter(const char *event, int mode) {
    return detail::make<CreatedCounter>(handle_, event, mode);
  }
  Recorder *create_recorder(const char *event, size_t bytes, int (*compare)(const void *, const void *)) {
    return detail::make<Recorder>(handle_, event, bytes, compare);
  }
  CountingSet *create_counting_set(const char *event) {
    return detail::make<CountingSet>(handle_, event);
  }

private:
  papi_handle_t handle_;
};

template <typename T> PapiSde::CreatedCounter &operator+=(PapiSde::CreatedCounter &counter, const T by) {
  counter.increment(by);
  return counter;
}
inline PapiSde::CreatedCounter &operator++(PapiSde::CreatedCounter &counter) {
  counter.increment(1LL);
  return counter;
}
inline PapiSde::CreatedCounter &operator--(PapiSde::CreatedCounter &counter) {
  counter.increment(-1LL);
  return counter;
}

} // namespace papi_sde

#endif
