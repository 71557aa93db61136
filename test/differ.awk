# Lists the tests that do less with -short or under the race detector, with the folder of their
# package: those that ask for it (testing.Short(), raced, underRace), those that call a function
# of their package that asks, and those in files with a build tag for it. Reads all test files
# twice:
#
#   git ls-files '*_test.go' >files; awk -f test/differ.awk $(cat files) $(cat files)
#
# A folder with "." instead of a name has to be tested whole: a function asks that is called by
# another function.
FNR == 1 {
	dir = FILENAME
	if (!sub(/\/[^\/]*$/, "", dir)) dir = "."
	if (FILENAME in seen) again = 1
	seen[FILENAME]
	name = tagged = ""
}
/^\/\/go:build .*race/ { tagged = 1 }
/^func / {
	name = $0
	sub(/^func (\([^)]*\) )?/, "", name)
	sub(/[^A-Za-z0-9_].*/, "", name)
	if (tagged && name ~ /^Test/) print dir, name
}
/^\/\/|^\t*\/\/|^const |^func / || name == "" || name ~ /^Benchmark/ { next }
!again && name !~ /^Test/ && asks($0) { helper[dir] = helper[dir] " " name }
again && name ~ /^Test/ && (asks($0) || helped($0)) { print dir, name }
again && name !~ /^Test/ && helped($0) { print dir, "." }

function asks(line) { return line ~ /testing\.Short\(\)|(^|[^A-Za-z_.])(raced|underRace)($|[^A-Za-z_:])/ }
function helped(line,    i, n, names) {
	n = split(helper[dir], names, " ")
	for (i = 1; i <= n; i++) if (line ~ "(^|[^A-Za-z_])" names[i] "\\(") return 1
	return 0
}
