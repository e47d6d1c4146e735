// A file system that never waits for the disk. What was written survives the death of a process all the same.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace strongbin {

class NoSyncFile : public ROCKSDB_NAMESPACE::FSWritableFileOwnerWrapper {
 public:
  using IOStatus = ROCKSDB_NAMESPACE::IOStatus;
  using IOOptions = ROCKSDB_NAMESPACE::IOOptions;
  using IODebugContext = ROCKSDB_NAMESPACE::IODebugContext;

  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

class NoSyncDirectory : public ROCKSDB_NAMESPACE::FSDirectoryWrapper {
 public:
  using IOStatus = ROCKSDB_NAMESPACE::IOStatus;
  using IOOptions = ROCKSDB_NAMESPACE::IOOptions;
  using IODebugContext = ROCKSDB_NAMESPACE::IODebugContext;

  using FSDirectoryWrapper::FSDirectoryWrapper;
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*, const ROCKSDB_NAMESPACE::DirFsyncOptions&) override {
    return IOStatus::OK();
  }
};

class NoSyncFileSystem : public ROCKSDB_NAMESPACE::FileSystemWrapper {
 public:
  using IOStatus = ROCKSDB_NAMESPACE::IOStatus;
  using IOOptions = ROCKSDB_NAMESPACE::IOOptions;
  using IODebugContext = ROCKSDB_NAMESPACE::IODebugContext;
  using FileOptions = ROCKSDB_NAMESPACE::FileOptions;
  using FSWritableFile = ROCKSDB_NAMESPACE::FSWritableFile;
  using FSDirectory = ROCKSDB_NAMESPACE::FSDirectory;

  NoSyncFileSystem() : FileSystemWrapper(ROCKSDB_NAMESPACE::FileSystem::Default()) {}
  const char* Name() const override { return "NoSyncFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* context) override {
    IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, context);
    if (status.ok()) *file = std::make_unique<NoSyncFile>(std::move(*file));
    return status;
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options, std::unique_ptr<FSDirectory>* directory,
                        IODebugContext* context) override {
    IOStatus status = FileSystemWrapper::NewDirectory(name, options, directory, context);
    if (status.ok()) *directory = std::make_unique<NoSyncDirectory>(std::move(*directory));
    return status;
  }
};

// Lives as long as the process: databases may be closed at its end.
inline ROCKSDB_NAMESPACE::Env* NoSyncEnv() {
  static ROCKSDB_NAMESPACE::Env* const env =
      ROCKSDB_NAMESPACE::NewCompositeEnv(std::make_shared<NoSyncFileSystem>()).release();
  return env;
}

}  // namespace strongbin
