package xargs

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns a command line as -t shows it: a shell reads the same arguments from it.
func Quote(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quoteWord(a)
	}
	return strings.Join(words, " ")
}

// quoteWord quotes as GNU's quotearg does in its style "shell-escape": only where necessary, between double quotes if the word has
// an apostrophe and nothing that is special there. Unprintable characters and terminal controls are escaped.
func quoteWord(w string) string {
	const special = "\t\n !\"$&'()*;<=>?[\\]^`|"
	hidden := strings.ContainsFunc(w, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) })
	switch {
	case w == "":
		return "''"
	case w == "{" || w == "}" || w == "#" || w == "~":
		return "'" + w + "'"
	case hidden:
	case !strings.ContainsAny(w, special) && !strings.HasPrefix(w, "#") && !strings.HasPrefix(w, "~"):
		return w
	case strings.Contains(w, "'") && !strings.ContainsAny(w, "\"$\\`!"):
		return `"` + w + `"`
	}
	var b strings.Builder
	b.WriteByte('\'')
	escaping := false
	for len(w) > 0 {
		r, n := utf8.DecodeRuneInString(w)
		head := w[:n]
		w = w[n:]
		if (r == utf8.RuneError && n == 1) || !unicode.IsPrint(r) {
			if !escaping {
				b.WriteString("'$'")
			}
			escaping = true
			escape(&b, head)
			continue
		}
		if r == '\'' { // it ends an escape, too
			b.WriteString(`'\''`)
			escaping = false
			continue
		}
		if escaping {
			b.WriteString("''")
		}
		escaping = false
		b.WriteString(head)
	}
	b.WriteByte('\'')
	return b.String()
}

// escape writes bytes as $'…' of a shell reads them.
func escape(b *strings.Builder, bytes string) {
	for i := range len(bytes) {
		c := bytes[i]
		if at := strings.IndexByte("\a\b\f\n\r\t\v", c); at >= 0 {
			b.WriteByte('\\')
			b.WriteByte("abfnrtv"[at])
			continue
		}
		fmt.Fprintf(b, `\%03o`, c)
	}
}
