#include "strongbin/stats/stats_page.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "strongbin/stats/page_files.h"

namespace strongbin {

namespace stats_internal {

constinit std::atomic<PageLayout*> current_page{nullptr};

namespace {

// The file and its mapping, one at a time. Never destroyed: others may ask until the last instruction of the process.
struct OpenedPage {
  std::mutex mutex;
  // Guarded by mutex.
  std::string path;  // empty: this process has none
  PageLayout* page = nullptr;
  void* spare = nullptr;  // the private copy for a child, so that it needs no memory for it
  pid_t owner = 0;        // who may remove the file
  bool removed_at_exit = false;
  bool has_complained = false;

  static OpenedPage& Get() {
    static auto* const opened = new OpenedPage;
    return *opened;
  }
};

size_t MappedBytes() {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (sizeof(PageLayout) + page_bytes - 1) / page_bytes * page_bytes;
}

void RemoveAtExit() {
  OpenedPage& opened = OpenedPage::Get();
  const std::lock_guard<std::mutex> lock(opened.mutex);
  if (!opened.path.empty() && opened.owner == getpid()) unlink(opened.path.c_str());
}

// Copies the numbers as the child must find them: after the fork the parent counts on, and what a pool keeps in private
// memory would no longer fit to them. The handlers of pools have run and hold their locks.
void CopyBeforeFork() {
  OpenedPage& opened = OpenedPage::Get();
  opened.mutex.lock();
  if (opened.page == nullptr) return;
  // Word by word: tables may be counting.
  const auto* from = reinterpret_cast<const std::atomic<uint64_t>*>(opened.page);
  auto* to = static_cast<uint64_t*>(opened.spare);
  for (size_t i = 0; i < sizeof(PageLayout) / sizeof(*to); ++i) to[i] = from[i].load(std::memory_order_relaxed);
}
void UnlockInParent() { OpenedPage::Get().mutex.unlock(); }
// Puts the copy in the place of the parent's page: whoever counts there goes on counting, and the parent does not see
// it.
void LeaveParentsPage() {
  OpenedPage& opened = OpenedPage::Get();
  if (opened.page != nullptr) {
    const size_t bytes = MappedBytes();
    // It takes no memory. A child that went on without it would count in its parent's page.
    if (mremap(opened.spare, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, opened.page) == MAP_FAILED) std::abort();
  }
  opened.page = nullptr;
  opened.spare = nullptr;
  opened.path.clear();
  current_page.store(nullptr, std::memory_order_relaxed);
  opened.mutex.unlock();
}

// When the code is loaded: a fork that comes while the first page opens must find the handlers. Those of pools, which
// come later, run before the first of them, and after the last. So it comes before all static objects, of which some
// make pools; 101 is the first priority that is free for programs.
[[gnu::constructor(101)]] void SetForkHandlers() {
  pthread_atfork(&CopyBeforeFork, &UnlockInParent, &LeaveParentsPage);
}

bool Fail(std::string* why, const std::string& what, int error) {
  if (why != nullptr) *why = what + ": " + std::strerror(error);
  return false;
}

// A new file, as large as the page and with all of it set aside, so that no access can find the file system full; and
// its mapping, followed by private memory of the same size.
bool MapNewFile(const std::string& path, void** mapping, std::string* why) {
  // Nobody else can write to it, its own user included: what is cut short would end the process at the next count.
  constexpr mode_t kReadOnly = S_IRUSR;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kReadOnly);
  if (fd < 0) return Fail(why, path, errno);
  const size_t bytes = MappedBytes();
  void* both = MAP_FAILED;
  int error = fchmod(fd, kReadOnly) != 0 ? errno : posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (error == 0) {
    both = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED || mmap(both, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
      error = errno;
    }
  }
  close(fd);
  if (error == 0) {
    *mapping = both;
    return true;
  }
  if (both != MAP_FAILED) munmap(both, 2 * bytes);
  unlink(path.c_str());
  return Fail(why, path, error);
}

void WriteHeader(PageLayout* page, const PageOwner& owner) {
  PageHeader& header = page->header;
  header.form = kPageForm;
  header.pool_slots = kPagePools;
  header.layout_hash = kLayoutHash;
  header.page_bytes = sizeof(PageLayout);
  header.pid = owner.pid;
  header.start_ticks = owner.start_ticks;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  header.opened_unix_ns = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  std::strncpy(header.program, program_invocation_short_name, kPageNameBytes - 1);
  // Release: see PageHeader.
  header.magic.store(kPageMagic, std::memory_order_release);
}

}  // namespace

PageSettings SettingsOfProcess() {
  const char* directory = std::getenv("XDG_RUNTIME_DIR");
  return {.is_secure = getauxval(AT_SECURE) != 0, .runtime_directory = directory == nullptr ? "" : directory};
}

bool OpenPage(const PageSettings& settings, std::string* why) {
  OpenedPage& opened = OpenedPage::Get();
  const std::lock_guard<std::mutex> lock(opened.mutex);
  if (opened.page != nullptr) return true;
  if (settings.is_secure) {
    if (why != nullptr) *why = "this program runs with more rights than its caller (set-uid or the like)";
    return false;
  }
  const std::optional<PageOwner> owner = ThisProcess();
  if (!owner) {
    if (why != nullptr) *why = "/proc does not tell when this process began; is it mounted?";
    return false;
  }
  const std::string directory = DirectoryForPage(settings.runtime_directory);
  RemoveStalePages(directory);
  const std::string path = directory + '/' + FileNameOf(*owner);
  void* mapping = nullptr;
  if (!MapNewFile(path, &mapping, why)) return false;

  // Default-initialised: a new file is all zero, which is an empty page, and no cell need be touched to say so.
  auto* page = static_cast<PageLayout*>(mapping);
  WriteHeader(page, *owner);
  opened.path = path;
  opened.page = page;
  opened.spare = static_cast<char*>(mapping) + MappedBytes();
  opened.owner = getpid();
  if (!std::exchange(opened.removed_at_exit, true)) std::atexit(&RemoveAtExit);
  // Release: pairs with CurrentPage.
  current_page.store(page, std::memory_order_release);
  return true;
}

bool IsAskedBy(const char* value) { return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0; }

void OpenPageIfAsked() {
  // Before the page is asked for, no more than a look at the environment; a child of fork() looks again.
  if (CurrentPage() != nullptr || !IsAskedBy(secure_getenv("STRONGBIN_STATS_PAGE"))) return;
  std::string why;
  if (OpenPage(SettingsOfProcess(), &why)) return;
  OpenedPage& opened = OpenedPage::Get();
  const std::lock_guard<std::mutex> lock(opened.mutex);
  if (!std::exchange(opened.has_complained, true)) {
    std::fprintf(stderr, "strongbin: STRONGBIN_STATS_PAGE asks for a statistics page; there is none: %s\n",
                 why.c_str());
  }
}

PoolSlot* TakePoolSlot(PageLayout* page, std::string_view name) {
  for (PoolSlot& slot : page->pools) {
    uint64_t number = 0;
    // Acquire: the slot as the last pool left it.
    if (!slot.number.compare_exchange_strong(number, kSlotInWork, std::memory_order_acquire)) continue;
    std::memset(slot.name, 0, kPageNameBytes);
    name.copy(slot.name, kPageNameBytes - 1);
    ForEachPoolMetric(
        [](const MetricInfo&, std::span<Cell> cells) {
          for (Cell& cell : cells) cell.Set(0);
        },
        slot.cells);
    // Relaxed: only a number that nobody else gets.
    static std::atomic<uint64_t> last_number{0};
    // Release: a reader that sees the number sees the name.
    slot.number.store(last_number.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
    return &slot;
  }
  page->header.pools_left_out.AddShared(1);
  return nullptr;
}

void LeavePoolSlot(PageLayout* page, PoolSlot* slot) {
  if (slot == nullptr) {
    page->header.pools_left_out.AddShared(UINT64_MAX);
    return;
  }
  // Release: pairs with TakePoolSlot.
  slot->number.store(0, std::memory_order_release);
}

}  // namespace stats_internal

bool OpenStatsPage(std::string* why) { return stats_internal::OpenPage(stats_internal::SettingsOfProcess(), why); }

std::string StatsPagePath() {
  stats_internal::OpenedPage& opened = stats_internal::OpenedPage::Get();
  const std::lock_guard<std::mutex> lock(opened.mutex);
  return opened.path;
}

}  // namespace strongbin
