package agentsetup

// TOML is not parsed. These expressions find the spellings of a table by its lines.
const (
	// tomlServer is our server as somebody else entered it: as a table, by a dotted key, or
	// in the table of all servers.
	tomlServer = `(?m)^[ \t]*\[[ \t]*` + tomlServers + `[ \t]*\.[ \t]*["']?githandoff["']?[ \t]*[.\]]` +
		`|^[ \t]*` + tomlServers + `[ \t]*\.[ \t]*["']?githandoff["']?[ \t]*[.=]` +
		`|^[ \t]*\[[ \t]*` + tomlServers + `[ \t]*\][^\n]*\n(?:[ \t]*[^\[ \t\n][^\n]*\n|[ \t]*\r?\n)*?[ \t]*["']?githandoff["']?[ \t]*[.=]` +
		`|^[ \t]*` + tomlServers + `[ \t]*=[ \t]*\{[^\n]*[{,][ \t]*["']?githandoff["']?[ \t]*[.=]` +
		`|^[ \t]*` + tomlServers + `[ \t]*=[ \t]*\{[ \t]*["']?githandoff["']?[ \t]*[.=]`
	// tomlInline is the table of all servers as one value: a further table of that name
	// makes the whole file invalid.
	tomlInline = `(?m)^[ \t]*` + tomlServers + `[ \t]*=`

	tomlServers = `["']?mcp_servers["']?`
)
