package xargs

import "strings"

// Quote returns a command line as -t shows it: a shell reads the same arguments from it.
func Quote(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quoteWord(a)
	}
	return strings.Join(words, " ")
}

// quoteWord quotes as GNU's quotearg does in its style "shell": only where necessary, between double quotes if the word has
// an apostrophe and nothing that is special there.
func quoteWord(w string) string {
	const special = "\t\n !\"$&'()*;<=>?[\\]^`|"
	switch {
	case w == "":
		return "''"
	case w == "{" || w == "}" || w == "#" || w == "~":
		return "'" + w + "'"
	case !strings.ContainsAny(w, special) && !strings.HasPrefix(w, "#") && !strings.HasPrefix(w, "~"):
		return w
	case !strings.Contains(w, "'"):
		return "'" + w + "'"
	case !strings.ContainsAny(w, "\"$\\`!"):
		return `"` + w + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
