# Writes each of `files` as a byte array into the C file `output`: index.html becomes page_index_html.
set(text "#include \"http/page_files.h\"\n")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes ${bytes})
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes ${bytes})
  string(APPEND text "\nstatic const unsigned char bytes_${name}[] = {\n${bytes}\n};\n"
    "const struct page_file page_${name} = {bytes_${name}, sizeof bytes_${name}};\n")
endforeach()
file(WRITE ${output} "${text}")
