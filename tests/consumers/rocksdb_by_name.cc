// A program of RocksDB's that takes its options as text: nothing in it speaks of strongbin.
//
// usage: rocksdb_by_name FOLDER OPTIONS
#include <iostream>
#include <memory>
#include <string>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

namespace {

int Complain(const std::string& what, const rocksdb::Status& status) {
  std::cerr << what << ": " << status.ToString() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  rocksdb::Options base;
  base.create_if_missing = true;
  rocksdb::Options options;
  rocksdb::ConfigOptions config;
  config.ignore_unsupported_options = false;
  rocksdb::Status status = rocksdb::GetOptionsFromString(config, base, argv[2], &options);
  if (!status.ok()) return Complain("options", status);

  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::Open(options, argv[1], &opened);
  if (!status.ok()) return Complain("open", status);
  std::unique_ptr<rocksdb::DB> db(opened);
  for (int i = 0; i < 1000; ++i) {
    status = db->Put({}, "key " + std::to_string(i * 7 % 1000), std::to_string(i));
    if (!status.ok()) return Complain("put", status);
  }
  std::string value;
  status = db->Get({}, "key 7", &value);
  if (!status.ok() || value != "1") return Complain("get", status);
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
  int count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
  if (count != 1000) return Complain("scan", it->status());
  std::cout << "memtable: " << options.memtable_factory->Name() << '\n';
}
