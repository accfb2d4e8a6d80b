package sasl

import (
	"bytes"
	"fmt"
	"strings"
)

// Error is a refusal by the mechanism; its text is what Java's SaslException would carry.
type Error struct {
	Text string
	// Err is a reason from outside the mechanism, if there is one, such as an unknown user.
	Err error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

func (e *Error) Unwrap() error { return e.Err }

func errorf(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

// directives are the name=value pairs of a challenge or response, names in lower case. No value is nil: nil means that
// the name is absent.
type directives map[string][]byte

// parse splits a list of name=value or name="value" with commas or white space between the pairs. Names are not case
// sensitive. known lists the names to keep. A known name that comes twice is an error, except for realm if realms are
// collected: the map has the first realm then.
func parse(b []byte, known map[string]bool, realms *[]string) (directives, error) {
	out := directives{}
	put := func(name string, value []byte) error {
		key := strings.ToLower(name)
		if !known[key] {
			return nil
		}
		if realms != nil && key == "realm" {
			*realms = append(*realms, string(value))
		}
		if _, twice := out[key]; twice {
			if realms != nil && key == "realm" {
				return nil
			}
			return errorf("DIGEST-MD5: peer sent more than one %s directive: %s", name, value)
		}
		out[key] = value
		return nil
	}

	i := skipSpace(b, 0)
	for i < len(b) {
		if b[i] == ',' { // an empty element
			i = skipSpace(b, i+1)
			continue
		}
		name, at, err := parseName(b, i)
		if err != nil {
			return nil, err
		}
		value := []byte{}
		if at < len(b) && b[at] == '"' {
			value, i, err = parseQuoted(b, at+1, name)
			if err != nil {
				return nil, err
			}
		} else {
			for i = at; i < len(b) && b[i] != ',' && !isSpace(b[i]); i++ {
			}
			value = append(value, b[at:i]...)
		}
		if err := put(name, value); err != nil {
			return nil, err
		}
		if i < len(b) {
			i = skipSpace(b, i+1)
		}
	}
	return out, nil
}

// parseName reads a name and the = after it. at is where its value begins. A name at the end of the list may lack the
// =; then at is len(b), and the value is empty, as in the JDK.
func parseName(b []byte, i int) (name string, at int, err error) {
	start := i
	for ; i < len(b) && b[i] != '='; i++ {
		switch {
		case b[i] == ',':
			return "", 0, errorf("Directive key contains a ',':%s", b[start:i])
		case isSpace(b[i]):
			end := i
			if i = skipSpace(b, i); i == len(b) || b[i] != '=' {
				return "", 0, errorf("'=' expected after key: %s", b[start:end])
			}
			return parseValueStart(b, start, end, i)
		}
	}
	if i == len(b) {
		return string(b[start:]), i, nil
	}
	return parseValueStart(b, start, i, i)
}

func parseValueStart(b []byte, start, end, equals int) (string, int, error) {
	if start == end {
		return "", 0, errorf("Empty directive key")
	}
	at := skipSpace(b, equals+1)
	if at == len(b) {
		return "", 0, errorf("Valueless directive found: %s", b[start:end])
	}
	return string(b[start:end]), at, nil
}

// parseQuoted reads the quoted string whose first quote precedes i. It returns the index after the last quote.
func parseQuoted(b []byte, i int, name string) ([]byte, int, error) {
	value := []byte{}
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			if i++; i == len(b) {
				return nil, 0, errorf("Unmatched quote found for directive: %s with value: %s", name, value)
			}
			value = append(value, b[i])
		case '"':
			if i++; i < len(b) && b[i] != ',' && !isSpace(b[i]) {
				return nil, 0, errorf("Expecting comma or linear whitespace after quoted string: \"%s\"", value)
			}
			return value, i, nil
		default:
			value = append(value, b[i])
		}
	}
	return nil, 0, errorf("Unmatched quote found for directive: %s with value: %s", name, value)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// appendQuoted appends name="value" and escapes quotes and backslashes.
func appendQuoted(b []byte, name, value string) []byte {
	b = append(append(b, name...), '=', '"')
	if bytes.IndexFunc([]byte(value), needsEscape) < 0 {
		b = append(b, value...)
	} else {
		for i := range len(value) {
			if needsEscape(rune(value[i])) {
				b = append(b, '\\')
			}
			b = append(b, value[i])
		}
	}
	return append(b, '"')
}

func needsEscape(c rune) bool {
	return c == '"' || c == '\\' || c == 127 || (c < 32 && c != '\r' && c != '\t' && c != '\n')
}
