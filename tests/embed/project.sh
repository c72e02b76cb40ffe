#!/bin/sh
# project.sh CMAKE ROOT FOLDER - a project that adds the library as a subdirectory, as docs/guide/embedding.md says, configures,
# finds its targets and headers, and gets none of its tests. Its lowest layer is compiled: all layers have the same options.
set -e
cmake=$1 root=$2 folder=$3
rm -rf "$folder" && mkdir -p "$folder"
ln -s "$root" "$folder/gibbous"
cat > "$folder/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(outside C)
enable_testing()
add_subdirectory(gibbous)
add_library(program OBJECT program.c)
target_include_directories(program PRIVATE $<TARGET_PROPERTY:gibbous_embed,INTERFACE_INCLUDE_DIRECTORIES>)
if(TARGET test_embed OR TARGET gibbous_far)
  message(FATAL_ERROR "the library's tests are targets of the project")
endif()
EOF
printf '#include <gibbous.h>\nconst char *version (void) { return gibbous_version(); }\n' > "$folder/program.c"
"$cmake" -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$cmake" --build "$folder/build" --target program gb_base > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
