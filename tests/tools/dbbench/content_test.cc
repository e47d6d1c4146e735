#include "strongbin/tools/dbbench/content.h"

#include <string>

#include <gtest/gtest.h>

namespace strongbin::dbbench {
namespace {

class ContentTest : public ::testing::Test {
 protected:
  static Config MakeConfig() {
    Config config;
    config.keys = 100;
    config.key_bytes = 16;
    config.value_bytes = 10;
    config.seed = 1;
    return config;
  }
  std::string Key(uint64_t index) const {
    std::string key(16, '\0');
    data_.MakeKey(index, key.data());
    return key;
  }

  const DataSet data_{MakeConfig(), TestKind::kOverwrite};
};

TEST_F(ContentTest, SumDoesNotDependOnOrder) {
  ContentSum one;
  ContentSum other;
  one.Add("a", "1");
  one.Add("b", "2");
  other.Add("b", "2");
  other.Add("a", "1");
  EXPECT_EQ(one.hash_sum, other.hash_sum);
  EXPECT_EQ(one.entries, other.entries);
}

TEST_F(ContentTest, SumTellsAChangedValueAKeyAndASwap) {
  ContentSum reference;
  reference.Add("a", "1");
  reference.Add("b", "2");
  ContentSum changed;
  changed.Add("a", "1");
  changed.Add("b", "3");
  EXPECT_NE(changed.hash_sum, reference.hash_sum);
  ContentSum swapped;
  swapped.Add("a", "2");
  swapped.Add("b", "1");
  EXPECT_NE(swapped.hash_sum, reference.hash_sum);
  EXPECT_NE(HashEntry("ab", "c"), HashEntry("a", "bc"));
}

TEST_F(ContentTest, TablesDrainedOneAfterAnotherEqualAMergedStore) {
  Ledger tables(data_, true);
  tables.Add(Key(1), "old");  // first table
  tables.Add(Key(2), "only");
  tables.Add(Key(1), "new");  // second table
  tables.Add(Key(3), "late");
  Ledger merged(data_, true);
  merged.Add(Key(1), "new");
  merged.Add(Key(2), "only");
  merged.Add(Key(3), "late");
  EXPECT_EQ(tables.Total().entries, 3u);
  EXPECT_EQ(tables.Total().hash_sum, merged.Total().hash_sum);
  Ledger wrong(data_, true);
  wrong.Add(Key(1), "new");
  wrong.Add(Key(1), "old");
  wrong.Add(Key(2), "only");
  wrong.Add(Key(3), "late");
  EXPECT_NE(wrong.Total().hash_sum, merged.Total().hash_sum);
}

TEST_F(ContentTest, BothKindsOfLedgerAgreeWhereNoKeyRepeats) {
  Ledger distinct(data_, false);
  Ledger repeating(data_, true);
  for (uint64_t i = 0; i < 100; ++i) {
    distinct.Add(Key(i), data_.Value(i));
    repeating.Add(Key(i), data_.Value(i));
  }
  EXPECT_EQ(distinct.Total().entries, repeating.Total().entries);
  EXPECT_EQ(distinct.Total().hash_sum, repeating.Total().hash_sum);
}

TEST_F(ContentTest, AKeyOutsideTheDataSetIsCounted) {
  Ledger ledger(data_, true);
  ledger.Add("no key of the set", "x");
  EXPECT_EQ(ledger.Total().entries, 1u);
}

}  // namespace
}  // namespace strongbin::dbbench
