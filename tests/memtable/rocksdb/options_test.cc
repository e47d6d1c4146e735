#include <string>

#include <gmock/gmock.h>
#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/write_buffer_manager.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

using testing::HasSubstr;

// Each option with a value that is not its default.
struct NamedValue {
  std::string name;
  std::string text;
  std::string stored;
};
const std::vector<NamedValue>& OtherThanDefaults() {
  static const auto* const values =
      new std::vector<NamedValue>{{"order", "fallback", "fallback"},     {"pool", "own", "own"},
                                  {"pool_cap_bytes", "16M", "16777216"}, {"cold_start", "none", "none"},
                                  {"pool_decay_ms", "5000", "5000"},     {"drop_pool_when_unused", "true", "true"},
                                  {"pressure_monitor", "true", "true"},  {"stats_page", "true", "true"}};
  return *values;
}
std::string OptionString() {
  std::string text;
  for (const NamedValue& value : OtherThanDefaults()) text += value.name + "=" + value.text + ";";
  return text;
}
std::string FactoryString() { return "id=strongbin;" + OptionString(); }

void ExpectOtherThanDefaults(const rdb::MemTableRepFactory& factory) {
  EXPECT_STREQ(factory.Name(), kRocksDBFactoryName);
  for (const NamedValue& value : OtherThanDefaults()) {
    std::string stored;
    EXPECT_TRUE(Ok(factory.GetOption({}, value.name, &stored))) << value.name;
    EXPECT_EQ(stored, value.stored) << value.name;
  }
}

// An unknown memtable is an error, instead of nothing or the skip list.
rdb::ConfigOptions Strict() {
  rdb::ConfigOptions options;
  options.ignore_unsupported_options = false;
  return options;
}

class OptionsTest : public DbTest {};

TEST_F(OptionsTest, FactoryIsFoundByName) {
  std::shared_ptr<rdb::MemTableRepFactory> shared;
  ASSERT_TRUE(Ok(rdb::MemTableRepFactory::CreateFromString(Strict(), "strongbin", &shared)));
  EXPECT_STREQ(shared->Name(), "strongbin");
  EXPECT_TRUE(shared->IsInsertConcurrentlySupported());
  EXPECT_TRUE(shared->CanHandleDuplicatedKey());
  std::unique_ptr<rdb::MemTableRepFactory> unique;
  ASSERT_TRUE(Ok(rdb::MemTableRepFactory::CreateFromString(Strict(), FactoryString(), &unique)));
  ExpectOtherThanDefaults(*unique);
}

TEST_F(OptionsTest, EveryOptionOfTheStringFormIsTried) {
  std::string text;
  ASSERT_TRUE(Ok(NewAppendOnlyRepFactory()->GetOptionString({}, &text)));
  std::unordered_map<std::string, std::string> options;
  ASSERT_TRUE(Ok(rdb::StringToMap(text, &options)));
  options.erase("id");
  EXPECT_EQ(options.size(), OtherThanDefaults().size()) << text;
  for (const NamedValue& value : OtherThanDefaults()) {
    EXPECT_EQ(options.count(value.name), 1u) << value.name;
    EXPECT_NE(options[value.name], value.stored) << value.name << " must differ from its default";
  }
}

TEST_F(OptionsTest, OptionsStringOfAColumnFamilySetsThem) {
  rdb::ColumnFamilyOptions options;
  ASSERT_TRUE(
      Ok(rdb::GetColumnFamilyOptionsFromString({}, {}, "memtable_factory={" + FactoryString() + "}", &options)));
  ExpectOtherThanDefaults(*options.memtable_factory);
}

TEST_F(OptionsTest, OptionsFileKeepsEveryOption) {
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  ASSERT_TRUE(Ok(options.memtable_factory->ConfigureFromString({}, OptionString())));
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
  ASSERT_TRUE(Ok(db->Put({}, "key", "value")));
  db.Close();

  rdb::DBOptions db_options;
  std::vector<rdb::ColumnFamilyDescriptor> families;
  ASSERT_TRUE(Ok(rdb::LoadLatestOptions(Strict(), Path("db"), &db_options, &families)));
  ASSERT_EQ(families.size(), 1u);
  ExpectOtherThanDefaults(*families[0].options.memtable_factory);
  std::string mismatch;
  EXPECT_TRUE(options.memtable_factory->AreEquivalent({}, families[0].options.memtable_factory.get(), &mismatch))
      << mismatch;

  ASSERT_TRUE(Ok(db.Open(rdb::Options(db_options, families[0].options), Path("db"))));
  std::string value;
  EXPECT_TRUE(Ok(db->Get({}, "key", &value)));
  EXPECT_EQ(value, "value");
}

TEST_F(OptionsTest, DatabaseSaysWhichMemtableItHas) {
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(SmallOptions(Rep::kStrongbin), Path("db"))));
  EXPECT_STREQ(db->GetOptions().memtable_factory->Name(), "strongbin");
}

TEST_F(OptionsTest, BadValuesAreRefusedByTheNameOfTheOption) {
  const std::vector<std::pair<std::string, std::string>> refused = {{"order", "sideways"},
                                                                    {"order", ""},
                                                                    {"pool", "shared"},
                                                                    {"cold_start", "lukewarm"},
                                                                    {"pool_cap_bytes", "many"},
                                                                    {"pool_cap_bytes", "-1"},
                                                                    {"pool_cap_bytes", "16MB"},
                                                                    {"pool_cap_bytes", "16 M"},
                                                                    {"pool_cap_bytes", "1.5M"},
                                                                    {"pool_cap_bytes", "M"},
                                                                    {"pool_cap_bytes", "0x10"},
                                                                    {"pool_cap_bytes", "18446744073709551616"},
                                                                    {"pool_cap_bytes", "16777216T"},
                                                                    {"pool_decay_ms", "soon"},
                                                                    {"pool_decay_ms", "-1"},
                                                                    {"pool_decay_ms", "5s"},
                                                                    {"pool_decay_ms", "1.5"},
                                                                    {"pool_decay_ms", "18446744073709551616"},
                                                                    {"drop_pool_when_unused", "perhaps"},
                                                                    {"pressure_monitor", "sometimes"},
                                                                    {"stats_page", "perhaps"},
                                                                    {"colour", "green"}};
  for (const auto& [name, value] : refused) {
    const std::string text = name + "=" + value;
    SCOPED_TRACE(text);
    std::shared_ptr<rdb::MemTableRepFactory> factory;
    const rdb::Status alone = rdb::MemTableRepFactory::CreateFromString({}, "id=strongbin;" + text, &factory);
    EXPECT_FALSE(alone.ok());
    EXPECT_THAT(alone.ToString(), HasSubstr(name));
    if (name != "colour") {
      const auto configured = NewAppendOnlyRepFactory();
      std::string before, after;
      EXPECT_TRUE(Ok(configured->GetOption({}, name, &before)));
      EXPECT_FALSE(configured->ConfigureOption({}, name, value).ok());
      EXPECT_TRUE(Ok(configured->GetOption({}, name, &after)));
      EXPECT_EQ(after, before) << "a refusal has changed the option";
    }

    rdb::ColumnFamilyOptions options;
    const rdb::Status nested =
        rdb::GetColumnFamilyOptionsFromString({}, {}, "memtable_factory={id=strongbin;" + text + "}", &options);
    EXPECT_TRUE(nested.IsInvalidArgument()) << nested.ToString();
    EXPECT_THAT(nested.ToString(), HasSubstr(name));
  }
}

TEST_F(OptionsTest, PoolCapIsReadWithItsUnit) {
  const std::vector<std::pair<std::string, std::string>> read = {{"0", "0"},
                                                                 {"4096", "4096"},
                                                                 {"3k", "3072"},
                                                                 {"3K", "3072"},
                                                                 {"2m", "2097152"},
                                                                 {"1G", "1073741824"},
                                                                 {"1t", "1099511627776"},
                                                                 {"18446744073709551615", "18446744073709551615"}};
  for (const auto& [text, bytes] : read) {
    const auto factory = NewAppendOnlyRepFactory();
    ASSERT_TRUE(Ok(factory->ConfigureOption({}, "pool_cap_bytes", text))) << text;
    std::string stored;
    ASSERT_TRUE(Ok(factory->GetOption({}, "pool_cap_bytes", &stored)));
    EXPECT_EQ(stored, bytes);
  }
}

TEST_F(OptionsTest, BytewiseOrderIsRefusedWithAnotherComparator) {
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  options.memtable_factory = NewAppendOnlyRepFactory({.order = RepOrder::kBytewise});
  TestDb db;
  options.comparator = rdb::ReverseBytewiseComparator();
  const rdb::Status refused = db.Open(options, Path("db"));
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_THAT(refused.ToString(), HasSubstr("order=bytewise"));
  EXPECT_THAT(refused.ToString(), HasSubstr(options.comparator->Name()));

  options.comparator = rdb::BytewiseComparator();
  EXPECT_TRUE(Ok(db.Open(options, Path("db"))));
  db.Close();
  for (const RepOrder order : {RepOrder::kAuto, RepOrder::kFallback}) {
    options.comparator = rdb::ReverseBytewiseComparator();
    options.memtable_factory = NewAppendOnlyRepFactory({.order = order});
    EXPECT_TRUE(Ok(db.Open(options, Path("reverse"))));
    db.Close();
  }
}

TEST_F(OptionsTest, ConfigureSetsTheFactoryAndTheManager) {
  rdb::Options options;
  options.create_if_missing = true;
  options.db_write_buffer_size = 8 << 20;
  ASSERT_TRUE(Ok(ConfigureRocksDB(&options, &options, {.pool_cap_bytes = 4096})));
  EXPECT_STREQ(options.memtable_factory->Name(), "strongbin");
  std::string stored;
  ASSERT_TRUE(Ok(options.memtable_factory->GetOption({}, "pool_cap_bytes", &stored)));
  EXPECT_EQ(stored, "4096");
  ASSERT_NE(options.write_buffer_manager, nullptr);
  EXPECT_EQ(options.write_buffer_manager->buffer_size(), size_t{8} << 20);

  const auto manager = std::make_shared<rdb::WriteBufferManager>(1 << 20);
  options.write_buffer_manager = manager;
  ASSERT_TRUE(Ok(ConfigureRocksDB(&options, nullptr)));
  EXPECT_EQ(options.write_buffer_manager, manager);

  rdb::ColumnFamilyOptions family;
  ASSERT_TRUE(Ok(ConfigureRocksDB(nullptr, &family)));
  EXPECT_STREQ(family.memtable_factory->Name(), "strongbin");

  rdb::ColumnFamilyOptions reverse;
  reverse.comparator = rdb::ReverseBytewiseComparator();
  const auto before = reverse.memtable_factory;
  const rdb::Status refused = ConfigureRocksDB(nullptr, &reverse, {.order = RepOrder::kBytewise});
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_THAT(refused.ToString(), HasSubstr(reverse.comparator->Name()));
  EXPECT_EQ(reverse.memtable_factory, before);
  TestDb db;
  EXPECT_TRUE(Ok(db.Open(options, Path("db"))));
}

}  // namespace
}  // namespace strongbin
