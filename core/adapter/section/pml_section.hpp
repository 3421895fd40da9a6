/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section.hpp - sections in C++11: a handle, and a scope that stops with its block.
 *
 *   static pml::section solver("solver", pml::section_options().exclusive());
 *   {
 *     pml::section_scope call(solver);
 *     ...
 *     call.work(2.0 * n); // operations or bytes, told when the block ends, also by an exception
 *   }
 *
 * Costs, thread and signal safety are as in pml_section.h. No function throws: error() reports that a section could not
 * be defined, and starting it does nothing.
 */
#ifndef PML_SECTION_HPP
#define PML_SECTION_HPP

#include "adapter/section/pml_section.h"

#include <initializer_list>
#include <vector>

namespace pml {

class section_options {
public:
  section_options &communication() {
    type_ = PML_SECTION_COMMUNICATION;
    return *this;
  }
  section_options &exclusive() {
    exclusive_ = true;
    return *this;
  }
  section_options &record(pml_section_record kind = PML_SECTION_RECORD_ALL) {
    record_ = kind;
    return *this;
  }
  section_options &events(std::initializer_list<const char *> names) {
    events_ = names;
    return *this;
  }

private:
  friend class section;
  pml_section_type type_ = PML_SECTION_CALCULATION;
  pml_section_record record_ = PML_SECTION_NO_RECORD;
  bool exclusive_ = false;
  std::vector<const char *> events_;
};

/* A copy is the same section; the section itself is the process's. */
class section {
public:
  explicit section(const char *label, const section_options &options = section_options()) {
    pml_section_options o = pml_section_options();
    o.type = options.type_;
    o.exclusive = options.exclusive_;
    o.record = options.record_;
    o.events = options.events_.data();
    o.nevents = options.events_.size();
    error_ = pml_section_define(label, &o, &section_);
  }
  int error() const { return error_; } /* 0, or what pml_section_define() returned; pml_error_detail() has a sentence */
  int start() const { return section_ != nullptr ? pml_section_start(section_) : error_; }
  int stop() const { return section_ != nullptr ? pml_section_stop(section_) : error_; }
  int stop(double work, uint64_t iterations = 1) const {
    return section_ != nullptr ? pml_section_stop_work(section_, work, iterations) : error_;
  }
  /* Merged over threads, without the values of events; all zero if there is nothing to say. */
  pml_section_row read() const {
    pml_section_row row = pml_section_row();
    if (section_ != nullptr) (void)pml_section_read(section_, &row, nullptr);
    return row;
  }
  pml_section *handle() const { return section_; }

private:
  pml_section *section_ = nullptr;
  int error_ = 0;
};

/* A call under way. It belongs to its block, and so to one thread. */
class section_scope {
public:
  explicit section_scope(const section &s) : section_(s), started_(s.start() == 0) {}
  ~section_scope() {
    if (!started_) return;
    if (iterations_ > 0)
      (void)section_.stop(work_, iterations_);
    else
      (void)section_.stop();
  }
  section_scope(const section_scope &) = delete;
  section_scope &operator=(const section_scope &) = delete;

  /* Adds to the workload that the call will have had. */
  void work(double amount, uint64_t iterations = 1) {
    work_ += amount;
    iterations_ += iterations;
  }

private:
  section section_;
  double work_ = 0;
  uint64_t iterations_ = 0;
  bool started_;
};

} // namespace pml

#endif
