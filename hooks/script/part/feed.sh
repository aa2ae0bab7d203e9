# feed gives a command the standard input that was read into $input, with a dot
# behind it to keep the last line feeds. A command that does not read all of it
# is no error.
feed() {
	printf '%s' "${input%.}" 2>/dev/null | "$@"
}
