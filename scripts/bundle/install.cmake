# What scripts/bundle.sh packs, beside the programs: `cmake --install build --component bundle`.
# Shared libraries that a static one was not found for go with them; glibc is the box's own.
install(RUNTIME_DEPENDENCY_SET bundle PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread)\\.so"
  LIBRARY DESTINATION lib COMPONENT bundle EXCLUDE_FROM_ALL)
install(PROGRAMS scripts/bundle/run.sh DESTINATION . COMPONENT bundle EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION . COMPONENT bundle EXCLUDE_FROM_ALL)
install(DIRECTORY scripts/report DESTINATION share/roofline COMPONENT bundle EXCLUDE_FROM_ALL
  PATTERN __pycache__ EXCLUDE)
install(FILES scripts/requirements.txt DESTINATION share/roofline COMPONENT bundle EXCLUDE_FROM_ALL)
