# Has the program write its pages into a folder.
#   cmake -DGIBBOUS=<program> -DOUT=<folder> -P pages.cmake
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
set(ENV{NO_COLOR} 1)
unset(ENV{LUA_INIT})
unset(ENV{LUA_INIT_5_4})

function(page file)
  execute_process(COMMAND ${GIBBOUS} ${ARGN} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND ${GIBBOUS} stubs ${OUT}/stubs OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
page(bash completion bash)
page(zsh completion zsh)
page(fish completion fish)
page(gibbous.1 man)
