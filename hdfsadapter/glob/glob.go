// Package glob understands Hadoop's patterns of names (GlobPattern, GlobExpander).
package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Expand expands braces that contain a slash, because a single component can't match those. Compile handles
// the others.
func Expand(pattern string) ([]string, error) {
	const maxAlternatives = 10_000
	done, todo := []string{}, []string{pattern}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		start, end, commas, err := slashBraces(p)
		if err != nil {
			return nil, err
		}
		if start < 0 {
			done = append(done, p)
			continue
		}
		from := start + 1
		for _, to := range append(commas, end) {
			todo = append(todo, p[:start]+p[from:to]+p[end+1:])
			from = to + 1
		}
		if len(done)+len(todo) > maxAlternatives {
			return nil, fmt.Errorf("more than %d alternatives", maxAlternatives)
		}
	}
	return done, nil
}

// slashBraces finds the first outermost braces that contain a slash, and the commas between their alternatives. start
// is −1 if there are none.
func slashBraces(p string) (start, end int, commas []int, err error) {
	depth, slash := 0, false
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				start, slash, commas = i, false, nil
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 && slash {
				return start, i, commas, nil
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '/':
			slash = slash || depth > 0
		}
	}
	if depth > 0 {
		return 0, 0, nil, errors.New("a { has no }")
	}
	return -1, 0, nil, nil
}

// Compile returns a regular expression for a component that is a pattern, and the literal text of any other.
func Compile(part string) (match *regexp.Regexp, literal string, err error) {
	var re, plain strings.Builder
	wild, braces := false, 0
	re.WriteString(`(?s)^(?:`)
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c == '\\':
			if i++; i == len(part) {
				return nil, "", errors.New("nothing follows the backslash")
			}
			re.WriteString(regexp.QuoteMeta(part[i : i+1]))
			plain.WriteByte(part[i])
			continue
		case c == '*':
			re.WriteString(`.*`)
		case c == '?':
			re.WriteString(`.`)
		case c == '[':
			set, n, err := compileSet(part[i+1:])
			if err != nil {
				return nil, "", err
			}
			re.WriteString(set)
			i += n
		case c == '{':
			braces++
			re.WriteString(`(?:`)
		case c == ',' && braces > 0:
			re.WriteByte('|')
		case c == '}' && braces > 0:
			braces--
			re.WriteByte(')')
		default:
			re.WriteString(quoteByte(c))
			plain.WriteByte(c)
			continue
		}
		wild = true
	}
	if braces > 0 {
		return nil, "", errors.New("a { has no }")
	}
	if !wild {
		return nil, plain.String(), nil
	}
	re.WriteString(`)$`)
	match, err = regexp.Compile(re.String())
	return match, "", err
}

// quoteByte quotes one byte of a text. The bytes of multi-byte characters need no quoting.
func quoteByte(c byte) string {
	if c < 0x80 {
		return regexp.QuoteMeta(string(rune(c)))
	}
	return string([]byte{c})
}

// compileSet returns a regular expression for a set of characters. n is the length of what it has read, including the
// closing bracket.
func compileSet(s string) (set string, n int, err error) {
	var b strings.Builder
	b.WriteByte('[')
	i := 0
	if i < len(s) && (s[i] == '^' || s[i] == '!') {
		b.WriteByte('^')
		i++
	}
	for first := i; i < len(s); i++ {
		switch c := s[i]; {
		case c == ']' && i > first:
			b.WriteByte(']')
			return b.String(), i + 1, nil
		case c == '\\':
			if i++; i == len(s) {
				return "", 0, errors.New("nothing follows the backslash")
			}
			b.WriteString(quoteInSet(s[i]))
		case c == '-':
			b.WriteByte(c)
		default:
			b.WriteString(quoteInSet(c))
		}
	}
	return "", 0, errors.New("a [ has no ]")
}

// quoteInSet quotes a character in a set. A backslash would give letters and digits a meaning.
func quoteInSet(c byte) string {
	if c < 0x80 && c != '_' && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}
