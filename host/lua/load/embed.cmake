# Turns Lua files into one C file with two tables (embed.h): the modules below gibbous/ and one of which C file gives which function to
# Lua, and the texts of other folders.
#   cmake -DROOT=<lualib> -DHOST=<host> -DOUT=<file.c> -P embed.cmake
set(arrays "")
set(number 0)

# Appends the bytes of a file to 'arrays', and a row to 'rows'.
macro(embed file name chunk)
  file(READ ${ROOT}/${file} hex HEX)
  file(SIZE ${ROOT}/${file} bytes)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," body "${hex}")
  string(REGEX REPLACE "(0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,0x[^,]*,)" "\\1\n" body "${body}")
  string(APPEND arrays "static const unsigned char text_${number}[] = {\n${body}0x00};\n")
  string(APPEND rows "    {\"${name}\", \"=${chunk}\", (const char *)text_${number}, ${bytes}},\n")
  math(EXPR number "${number} + 1")
endmacro()

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/gibbous/*.lua)
list(SORT files)
set(rows "")
foreach(file IN LISTS files)
  string(REGEX REPLACE "(/init)?\\.lua$" "" module "${file}")
  string(REPLACE "/" "." module "${module}")
  embed(${file} ${module} ${file})
endforeach()

# "name host/lua/file.c" a line, for each {"name", function} in the bindings.
file(GLOB_RECURSE bindings RELATIVE ${HOST} ${HOST}/lua/*.c)
list(SORT bindings)
set(places "")
foreach(file IN LISTS bindings)
  file(STRINGS ${HOST}/${file} lines REGEX "{\"[a-z][a-z0-9_]*\", [a-z]")
  foreach(line IN LISTS lines)
    string(REGEX MATCHALL "{\"[a-z][a-z0-9_]*\", [a-z]" entries "${line}")
    foreach(entry IN LISTS entries)
      string(REGEX REPLACE "{\"([a-z0-9_]*)\".*" "\\1" name "${entry}")
      string(APPEND places "${name} host/${file}\n")
    endforeach()
  endforeach()
endforeach()
set(places "return [[\n${places}]]\n")
string(REPLACE "\n" "\\n\"\n\"" places_text "${places}")
string(LENGTH "${places}" bytes)
string(APPEND rows "    {\"gibbous.places\", \"=gibbous/places.lua\",\n\"${places_text}\", ${bytes}},\n")
set(modules "${rows}")

file(GLOB files RELATIVE ${ROOT} ${ROOT}/examples/*.lua ${ROOT}/skeletons/*.lua)
list(SORT files)
set(rows "")
foreach(file IN LISTS files)
  embed(${file} ${file} ${file})
endforeach()

file(WRITE ${OUT} "/* Generated from lualib/. */\n#include \"lua/load/embed.h\"\n\n${arrays}
const gb_embedded gb_embedded_modules[] = {\n${modules}    {0}};
const gb_embedded gb_embedded_texts[] = {\n${rows}    {0}};\n")
