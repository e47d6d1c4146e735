// A library that holds the pool can be unloaded while the pool decays.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "strongbin/tests/pool/thread_names.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

TEST(UnloadTest, TheTimersThreadEndsWithTheLibraryThatHoldsItsCode) {
  if (kAddressSanitizer) GTEST_SKIP() << "the pool of a library that is unloaded is lost, which is a leak";
  for (int round = 0; round < 3; round++) {
    void* const library = dlopen(STRONGBIN_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto use = reinterpret_cast<bool (*)()>(dlsym(library, "UseThePoolWithDecay"));
    ASSERT_NE(use, nullptr);
    EXPECT_TRUE(use());
    EXPECT_EQ(CountThreads("strongbin-pool"), 1u);
    EXPECT_EQ(dlclose(library), 0);
    ASSERT_EQ(dlopen(STRONGBIN_TEST_LIBRARY, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it is really gone";
    EXPECT_EQ(CountThreads("strongbin-pool"), 0u);
    // Nothing of it is called by a fork either.
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace strongbin
