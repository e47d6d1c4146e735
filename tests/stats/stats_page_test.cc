// The life of a page: who may have one, where it lies, and when it goes.
#include "strongbin/stats/stats_page.h"

#include <fcntl.h>
#include <regex>
#include <sys/stat.h>
#include <thread>

#include "strongbin/tests/stats/page_test_util.h"

namespace strongbin {
namespace {

using namespace stats_internal;

class StatsPageTest : public PageTest {
 protected:
  // A child that has a page and waits to be killed.
  pid_t StartOwner() const {
    const pid_t child = StartChild([this] {
      Open();
      for (;;) pause();
    });
    while (directory_.files().empty() || !CanRead(directory_.files()[0].path)) std::this_thread::yield();
    return child;
  }
  static bool CanRead(const std::string& path) {
    PageSnapshot snapshot;
    std::string why;
    return ReadStatsPage(path, &snapshot, &why);
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    EXPECT_EQ(WaitFor(child), -SIGKILL);
  }
};

TEST_F(StatsPageTest, NothingIsThereUntilItIsAskedFor) {
  EXPECT_EQ(InChild([] {
              REQUIRE_IN_CHILD(CurrentPage() == nullptr);
              REQUIRE_IN_CHILD(StatsPagePath().empty());
            }),
            0);
}

TEST_F(StatsPageTest, TheCountersAreThePage) {
  EXPECT_EQ(InChild([this] {
              Open();
              PageLayout* page = CurrentPage();
              PoolSlot* slot = TakePoolSlot(page, "engine");
              slot->cells.gets[3].Set(7);
              page->tables.sorts.AddShared(5);
              page->rocksdb.made_memtables.AddShared(9);
              const PageSnapshot seen = ReadOwnPage();
              REQUIRE_IN_CHILD(seen.pid == static_cast<uint64_t>(getpid()));
              REQUIRE_IN_CHILD(seen.program == program_invocation_short_name ||
                               std::string(program_invocation_short_name).starts_with(seen.program));
              REQUIRE_IN_CHILD(seen.pools.size() == 1 && seen.pools[0].name == "engine");
              REQUIRE_IN_CHILD(seen.pools[0].stats.gets[3] == 7);
              REQUIRE_IN_CHILD(seen.tables.sorts == 5 && seen.rocksdb.made_memtables == 9);
              slot->cells.gets[3].Add(1);
              REQUIRE_IN_CHILD(ReadOwnPage().pools[0].stats.gets[3] == 8);
            }),
            0);
}

TEST_F(StatsPageTest, OpeningAgainChangesNothing) {
  EXPECT_EQ(InChild([this] {
              Open();
              const std::string path = StatsPagePath();
              PageLayout* page = CurrentPage();
              Open();
              REQUIRE_IN_CHILD(StatsPagePath() == path && CurrentPage() == page);
            }),
            0);
}

TEST_F(StatsPageTest, TheFileIsReadableByItsUserAndWritableByNobody) {
  const pid_t child = StartOwner();
  ASSERT_EQ(directory_.files().size(), 1u);
  struct stat info;
  ASSERT_EQ(lstat(directory_.files()[0].path.c_str(), &info), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
  EXPECT_EQ(info.st_mode & 07777, static_cast<mode_t>(S_IRUSR));
  EXPECT_EQ(info.st_uid, geteuid());
  EXPECT_GE(static_cast<size_t>(info.st_size), sizeof(PageLayout));
  EXPECT_GE(static_cast<size_t>(info.st_blocks) * 512, sizeof(PageLayout)) << "a full file system would end a count";
  Kill(child);
}

TEST_F(StatsPageTest, TheFileGoesAtExit) {
  EXPECT_EQ(InChild([this] {
              Open();
              REQUIRE_IN_CHILD(directory_.files().size() == 1);
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(StatsPageTest, TheFileOfAKilledProcessIsKnownAsStaleAndGoesWithTheNextPage) {
  const pid_t child = StartOwner();
  const PageFile file = directory_.files()[0];
  EXPECT_EQ(file.owner.pid, static_cast<uint64_t>(child));
  EXPECT_EQ(StateOf(file), OwnerState::kRuns);
  EXPECT_EQ(RemoveStalePages(directory_.path()), 0u);
  Kill(child);
  EXPECT_EQ(StateOf(file), OwnerState::kGone);
  EXPECT_EQ(InChild([this, &file] {
              Open();
              REQUIRE_IN_CHILD(directory_.files().size() == 1);
              REQUIRE_IN_CHILD(directory_.files()[0].path != file.path);
            }),
            0);
}

TEST_F(StatsPageTest, AnotherProcessWithTheSameNumberDoesNotOwnThePage) {
  PageOwner earlier = ThisProcess().value();
  earlier.start_ticks -= 1;
  WriteBytes(directory_.PathOf(earlier), "", 0);
  EXPECT_EQ(StateOf(directory_.files()[0]), OwnerState::kGone);
  EXPECT_EQ(RemoveStalePages(directory_.path()), 1u);
}

TEST_F(StatsPageTest, AFileThatIsJustBeingMadeIsLeftAlone) {
  WriteBytes(directory_.PathOf(ThisProcess().value()), "", 0);
  EXPECT_EQ(StateOf(directory_.files()[0]), OwnerState::kRuns);
  EXPECT_EQ(RemoveStalePages(directory_.path()), 0u);
}

TEST_F(StatsPageTest, ProcessesOfAnotherNamespaceAreLeftAlone) {
  PageOwner foreign = ThisProcess().value();
  foreign.pid_namespace += 1;
  WriteBytes(directory_.PathOf(foreign), "", 0);
  EXPECT_EQ(StateOf(directory_.files()[0]), OwnerState::kElsewhere);
  EXPECT_EQ(RemoveStalePages(directory_.path()), 0u);
}

TEST_F(StatsPageTest, AProgramThatTookTheProcessOverDoesNotOwnThePage) {
  const pid_t child = StartChild([this] {
    Open();
    execlp("sleep", "sleep", "300", nullptr);
    _exit(1);
  });
  // Once the other program runs; until then the file is being made, or the process has it.
  while (directory_.files().empty() || StateOf(directory_.files()[0]) == OwnerState::kRuns) std::this_thread::yield();
  EXPECT_EQ(StateOf(directory_.files()[0]), OwnerState::kGone);
  Kill(child);
}

TEST_F(StatsPageTest, SecureProgramsGetNone) {
  EXPECT_EQ(InChild([this] {
              PageSettings settings = directory_.settings();
              settings.is_secure = true;
              std::string why;
              REQUIRE_IN_CHILD(!OpenPage(settings, &why));
              REQUIRE_IN_CHILD(why.find("set-uid") != std::string::npos);
              REQUIRE_IN_CHILD(CurrentPage() == nullptr && StatsPagePath().empty());
              REQUIRE_IN_CHILD(!OpenPage(settings, nullptr));
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(StatsPageTest, TheEnvironmentAsksByAnyValueButNoneAndZero) {
  EXPECT_FALSE(IsAskedBy(nullptr));
  EXPECT_FALSE(IsAskedBy(""));
  EXPECT_FALSE(IsAskedBy("0"));
  EXPECT_TRUE(IsAskedBy("1"));
  EXPECT_EQ(InChild([this] {
              setenv("XDG_RUNTIME_DIR", directory_.path().c_str(), 1);
              setenv("STRONGBIN_STATS_PAGE", "0", 1);
              OpenPageIfAsked();
              REQUIRE_IN_CHILD(CurrentPage() == nullptr);
              setenv("STRONGBIN_STATS_PAGE", "1", 1);
              OpenPageIfAsked();
              REQUIRE_IN_CHILD(StatsPagePath().starts_with(directory_.path() + "/strongbin-stats."));
            }),
            0);
}

TEST_F(StatsPageTest, OnlyAPrivateDirectoryInMemoryIsTaken) {
  EXPECT_EQ(DirectoryForPage(directory_.path()), directory_.path());
  EXPECT_EQ(DirectoryForPage(""), "/dev/shm");
  EXPECT_EQ(DirectoryForPage("relative"), "/dev/shm");
  EXPECT_EQ(DirectoryForPage(directory_.path() + "/absent"), "/dev/shm");
  EXPECT_EQ(DirectoryForPage("/proc/self"), "/dev/shm");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  EXPECT_EQ(DirectoryForPage(directory_.path()), "/dev/shm");
}

TEST_F(StatsPageTest, PagesAreFoundWhereTheyAreMade) {
  const pid_t owner = StartOwner();
  const std::string path = directory_.files()[0].path;
  const auto is_found = [&path] {
    const std::vector<PageFile> found = FindStatsPages();
    return std::any_of(found.begin(), found.end(), [&path](const PageFile& file) { return file.path == path; });
  };
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string usual = before == nullptr ? "" : before;
  setenv("XDG_RUNTIME_DIR", directory_.path().c_str(), 1);
  EXPECT_TRUE(is_found());
  setenv("XDG_RUNTIME_DIR", usual.c_str(), 1);
  EXPECT_FALSE(is_found());
  Kill(owner);
}

TEST_F(StatsPageTest, NothingThatLiesInTheWayIsFollowedOrOverwritten) {
  const std::string target = directory_.path() + "/target";
  EXPECT_EQ(InChild([this, &target] {
              const std::string path = directory_.PathOf(ThisProcess().value());
              REQUIRE_IN_CHILD(symlink(target.c_str(), path.c_str()) == 0);
              std::string why;
              REQUIRE_IN_CHILD(!OpenPage(directory_.settings(), &why));
              REQUIRE_IN_CHILD(why.find(path) != std::string::npos);
            }),
            0);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(StatsPageTest, FileNamesTellTheProcessAndNothingElsePassesForOne) {
  const PageOwner owner{1000, 4321, 987654, 4026531836};
  EXPECT_EQ(FileNameOf(owner), "strongbin-stats.1000.4321.987654.4026531836");
  EXPECT_EQ(OwnerFromFileName(FileNameOf(owner)), owner);
  for (const char* name :
       {"", "strongbin-stats", "strongbin-stats.1.2.3", "strongbin-stats.1.2.3.", "strongbin-stats.1.2.3.4.5",
        "strongbin-stats.1.2.3.-4", "strongbin-stats.1.2.3.99999999999999999999999", "strongbin-statsx.1.2.3.4"}) {
    EXPECT_FALSE(OwnerFromFileName(name)) << name;
  }
}

}  // namespace
}  // namespace strongbin
