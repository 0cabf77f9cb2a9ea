# docs.awk - makes docs/syscalls.md from table.def:
#   awk -f syscalls/docs.awk syscalls/table.def > docs/syscalls.md
# A row ends in a line that ends in '")'. No quote stands within a string.

BEGIN {
	print "# System calls\n"
	print "Made from `syscalls/table.def` by `syscalls/docs.awk`; do not edit.\n"
	print "**native**: runs in the kernel, nothing is decided by a pointer or a"
	print "descriptor. **args**: native if the arguments allow it, else answered."
	print "**answered**: by the sentry. **checked**: looked at by the sentry, then"
	print "native. **traced**: exec. **refused**: with the errno shown; recorded.\n"
	print "| nr | call | jailed | bare | support | note |"
	print "|---|---|---|---|---|---|"
	word["NATIVE"] = "native"; word["ARGS"] = "args"
	word["NOTIFY"] = "answered"; word["PASS"] = "checked"
	word["TRACE"] = "traced"
	sup["REFUSED"] = "refused"
	sup["FULL"] = "full"; sup["PART"] = "part"; sup["EMUL"] = "emulated"
}

/^(NATIVE|JAILED|REFUSE|ROW)\(/ { row = ""; open = 1 }
open {
	line = $0
	sub(/^[ \t]+/, " ", line)
	row = row line
	if (line ~ /"\)$/) {
		open = 0
		emit(row)
	}
}

function trim(s) {
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

function emit(r,    kind, n, part, f, i, note, count) {
	kind = substr(r, 1, index(r, "(") - 1)
	r = substr(r, index(r, "(") + 1)
	sub(/\)$/, "", r)
	gsub(/" +"/, "", r) # joined string literals
	n = split(r, part, "\"")
	# outside the quotes: head, columns, end; inside: spec, note
	note = part[n - 1]
	split(part[1], f, ",")
	nr = trim(f[1]); name = trim(f[2])
	count = split(part[3], f, ",")
	if (kind == "NATIVE")
		line4(nr, name, "native", "native", "native", note)
	else if (kind == "JAILED")
		line4(nr, name, "native", trim(f[3]), "native", note)
	else if (kind == "REFUSE")
		line4(nr, name, trim(f[2]), trim(f[2]), "refused", note)
	else
		line4(nr, name, word[trim(f[2])], word[trim(f[3])],
		      sup[trim(f[6])], note)
}

function line4(nr, name, jailed, bare, support, note) {
	gsub(/\|/, "\\|", note)
	printf "| %s | %s | %s | %s | %s | %s |\n", nr, name, jailed, bare,
	       support, note
	total++
	by[support]++
}

END {
	printf "\n%d calls: %d native, %d full, %d in part, %d emulated, ",
	       total, by["native"], by["full"], by["part"], by["emulated"]
	printf "%d refused. Other numbers are ENOSYS, and recorded.\n",
	       by["refused"]
}
