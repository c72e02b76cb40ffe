# What generated kernels include, as one C file with a row a header (emit.h). Headers of a host are the prelude's where NVRTC
# compiles, and their own elsewhere.
#   cmake -DROOT=<project> -DOUT=<file.c> -DFILES=<name=path,...> -P headers.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  string(REGEX MATCH "^([^=]*)=(.*)$" pair "${file}")
  set(name ${CMAKE_MATCH_1})
  set(path ${CMAKE_MATCH_2})
  file(READ ${ROOT}/${path} hex HEX)
  if(path MATCHES "profile.inc$")   # C++ has no compound literals: "(V(name)){" is "V(name){" there
    foreach(name 70726f66 726f6f74)   # prof, root
      string(REPLACE "285628${name}29297b" "5628${name}297b" hex "${hex}")
    endforeach()
  endif()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," body "${hex}")
  string(REGEX REPLACE "(0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,)" "\\1\n" body "${body}")
  string(APPEND arrays "static const unsigned char text_${number}[] = {\n${body}0x00};\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
foreach(name float.h math.h stdbool.h stddef.h stdint.h string.h cuda_runtime.h)
  string(APPEND rows "    {\"${name}\", \"#ifdef __CUDACC_RTC__\\n#include \\\"cuda/emit/prelude.h\\\"\\n#else\\n#include_next <${name}>\\n#endif\\n\"},\n")
endforeach()
file(WRITE ${OUT} "/* Generated from the headers themselves. */\n#include \"cuda/emit/emit.h\"\n\n${arrays}
const gb_cuda_header gb_cuda_headers[] = {\n${rows}};\nconst int gb_cuda_nheaders = sizeof gb_cuda_headers / sizeof *gb_cuda_headers;\n")
