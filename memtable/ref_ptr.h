// Shared ownership of what many readers hold at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace strongbin {

// The count inside the object; made with one reference, which RefPtr::Adopt takes over. Used where std::shared_ptr
// would need an exception to say that memory was refused. Thread safety: as std::shared_ptr.
template <class T>
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  // Relaxed: who copies a reference already has one.
  void Ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    // Release: our reads come before the deletion; acquire: the deleter sees everybody's reads done.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete static_cast<const T*>(this);
  }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> references_{1};
};

// One reference to a RefCounted object, or none. Thread safety and cost: as std::shared_ptr.
template <class T>
class RefPtr {
 public:
  RefPtr() = default;
  RefPtr(const RefPtr& other) : pointer_(other.pointer_) {
    if (pointer_ != nullptr) pointer_->Ref();
  }
  RefPtr(RefPtr&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  // From RefPtr<T> to RefPtr<const T>.
  template <class U>
  RefPtr(RefPtr<U> other) : pointer_(other.Release()) {}  // NOLINT(google-explicit-constructor): as T* to const T*
  RefPtr& operator=(RefPtr other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~RefPtr() {
    if (pointer_ != nullptr) pointer_->Unref();
  }

  // Takes over the reference that `pointer` was made with; null stays null.
  static RefPtr Adopt(T* pointer) {
    RefPtr result;
    result.pointer_ = pointer;
    return result;
  }

  // Gives up the reference without dropping it.
  T* Release() { return std::exchange(pointer_, nullptr); }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }

 private:
  T* pointer_ = nullptr;
};

}  // namespace strongbin
