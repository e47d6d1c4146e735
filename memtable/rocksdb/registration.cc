// Makes the factory known by name as soon as the shared library is in a process, preloaded or linked.
#include <cstdio>
#include <memory>
#include <string>

#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include "strongbin/memtable/rocksdb/comparator_check.h"
#include "strongbin/memtable/rocksdb/rep_factory.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// RocksDB asks its registry for a bare pointer that somebody else owns.
rdb::MemTableRepFactory* MakeFactory(const std::string&, std::unique_ptr<rdb::MemTableRepFactory>* guard,
                                     std::string*) {
  *guard = NewUnsharedRepFactory({});
  return guard->get();
}

[[gnu::constructor]] void Register() {
  if (!IsTestedRocksDBVersion()) {
    std::fprintf(stderr, "strongbin: RocksDB %s is not a version this library was tested with; nothing is registered\n",
                 rdb::GetRocksVersionAsString().c_str());
    return;
  }
  rdb::ObjectLibrary::Default()->AddFactory<rdb::MemTableRepFactory>(kRocksDBFactoryName, MakeFactory);
}

}  // namespace

}  // namespace strongbin
