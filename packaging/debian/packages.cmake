# The four Debian packages, by CPack: `cpack -B FOLDER` in the folder of a release build.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME strongbin)
set(CPACK_PACKAGE_VENDOR "strongbin")
set(CPACK_PACKAGE_CONTACT "strongbin developers <strongbin@users.noreply.github.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL libstrongbin1 libstrongbin-dev libstrongbin-rocksdb strongbin-tools)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Dependencies on other packages follow from what is linked.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/memtable/rocksdb")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_LIBSTRONGBIN1_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBSTRONGBIN1_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers")
set(CPACK_COMPONENT_LIBSTRONGBIN1_DESCRIPTION "append-only memtable for storage engines
Holds the newest writes of a storage engine in the order they came and shows
them by key, with versions and snapshots, lock-free point reads and lazily
sorted iterators. Its memory comes from a bounded pool of chunks and goes back
there when a table is emptied.

This package holds the shared library.")

set(CPACK_DEBIAN_LIBSTRONGBIN-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBSTRONGBIN-DEV_PACKAGE_DEPENDS "libstrongbin1 ${same_version}")
set(CPACK_DEBIAN_LIBSTRONGBIN-DEV_PACKAGE_SUGGESTS "libhwy-dev, librocksdb-dev, libstrongbin-rocksdb ${same_version}")
set(CPACK_COMPONENT_LIBSTRONGBIN-DEV_DESCRIPTION "append-only memtable for storage engines (development files)
Headers for C++20 and C, the static library (to link it, libhwy-dev is needed
as well), files for CMake and pkg-config, the documentation and an example of
a small key-value store.

The headers of the memtable for RocksDB are here, too; its library is in
libstrongbin-rocksdb.")

set(CPACK_DEBIAN_LIBSTRONGBIN-ROCKSDB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBSTRONGBIN-ROCKSDB_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers")
set(CPACK_DEBIAN_LIBSTRONGBIN-ROCKSDB_PACKAGE_SUGGESTS "strongbin-tools, rocksdb-tools")
set(CPACK_COMPONENT_LIBSTRONGBIN-ROCKSDB_DESCRIPTION "append-only memtable for RocksDB
A memtable for the RocksDB of Debian, which stays as it is: linked or
preloaded, the library is found by the name strongbin in RocksDB's options.
Databases written with it open without it, and the other way round.")

set(CPACK_DEBIAN_STRONGBIN-TOOLS_PACKAGE_SECTION database)
set(CPACK_DEBIAN_STRONGBIN-TOOLS_PACKAGE_DEPENDS "libstrongbin-rocksdb ${same_version}")
set(CPACK_COMPONENT_STRONGBIN-TOOLS_DESCRIPTION "tools for the strongbin memtable
strongbin-stat shows the memtables and pools of a running process, live, as a
table, JSON, CSV or Prometheus text. dbbench compares the memtable with those
of RocksDB.")

set(changelog "${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian.gz")
add_custom_command(OUTPUT "${changelog}" DEPENDS debian/changelog VERBATIM
  COMMAND gzip -9 -n -c "${CMAKE_CURRENT_SOURCE_DIR}/debian/changelog" > "${changelog}")
add_custom_target(strongbin_changelog ALL DEPENDS "${changelog}")
# Of no use outside of a package.
foreach(package ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${package} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  install(FILES debian/copyright "${changelog}" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${package}
    EXCLUDE_FROM_ALL)
  set(overrides debian/${package}.lintian-overrides)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${overrides}")
    install(FILES ${overrides} RENAME ${package} DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides" COMPONENT ${package}
      EXCLUDE_FROM_ALL)
  endif()
endforeach()
include(CPack)
