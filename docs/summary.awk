# summary.awk - counts the rows of docs/syscalls.md by how the call is
# supported: the table in README.md. A word it does not know is an error.
BEGIN {
	FS = " *[|] *"
	n = split("native full part emulated refused", order, " ")
	meaning["native"] = "runs in the kernel, unchanged, at native speed"
	meaning["full"] = "answered by the sentry, with native results"
	meaning["part"] = "answered by the sentry; the note says what is missing"
	meaning["emulated"] = "answered from the sandbox's own state"
	meaning["refused"] = "refused with the errno shown, and recorded"
}

/^\| [0-9]/ {
	if (!($6 in meaning)) {
		print "summary.awk: support level " $6 " is unknown" \
			>"/dev/stderr"
		exit 1
	}
	count[$6]++
	all++
}

END {
	print "| support | calls | meaning |"
	print "|---|---:|---|"
	for (i = 1; i <= n; i++)
		print "| " order[i] " | " count[order[i]] + 0 " | " \
			meaning[order[i]] " |"
	print "| **all** | " all " | any other number: ENOSYS, and recorded |"
}
