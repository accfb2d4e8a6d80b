// Package principal shortens the names of users as Hadoop does: the full name alice/admin@EXAMPLE.COM, or the short one alice
// (KerberosName, with the rules of hadoop.security.auth_to_local). It does no I/O.
package principal

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mechanism says what becomes of names that no rule makes short (hadoop.security.auth_to_local.mechanism).
type Mechanism string

// The mechanisms.
const (
	Hadoop Mechanism = "hadoop" // they are refused
	MIT    Mechanism = "mit"    // they stay as they are
)

// Simple are the rules of a cluster without Kerberos that sets none: the first part of a name counts, whatever its realm.
const Simple = "RULE:[1:$1] RULE:[2:$1]"

// Errors of a name.
var (
	ErrMalformed = errors.New("malformed Kerberos name") // more than one host or realm, or an empty part
	ErrNoRule    = errors.New("no matching rule")
	ErrFormat    = errors.New("bad format") // a rule's format names a part that the name lacks
)

// Error is an error of a name or of rules, in Hadoop's words.
type Error struct {
	Kind error // ErrMalformed, ErrNoRule, ErrFormat, or nil of rules
	Text string
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Rules make short names. They are safe for concurrent use.
type Rules struct {
	rules     []rule
	mechanism Mechanism
	realm     string // the default one; "" if there is none
}

type rule struct {
	byDefault  bool // DEFAULT: names of the default realm
	components int
	format     string
	match      *regexp.Regexp // of the whole text; nil: all
	from       *regexp.Regexp // nil: nothing is replaced
	to         string         // as Java writes replacements
	all        bool           // all occurrences are replaced
	lower      bool

	text string // as Hadoop prints it
}

// ruleAt finds a rule at the beginning of a text (Hadoop: KerberosName.ruleParser).
var ruleAt = regexp.MustCompile(`^\s*((DEFAULT)|(RULE:\[(\d*):([^\]]*)](\(([^)]*)\))?(s/([^/]*)/([^/]*)/(g)?)?))/?(L)?`)

// Parse reads rules, which white space separates. realm is the default one, "" if there is none. What only Java's patterns have is refused: look-around,
// references back, and sets within brackets.
func Parse(text string, mechanism Mechanism, realm string) (*Rules, error) {
	if mechanism != Hadoop && mechanism != MIT {
		return nil, fmt.Errorf("the mechanism %q is neither %s nor %s", mechanism, Hadoop, MIT)
	}
	r := &Rules{mechanism: mechanism, realm: realm}
	for left := javaTrim(text); left != ""; {
		at := ruleAt.FindStringSubmatchIndex(left)
		if at == nil {
			return nil, &Error{Text: "Invalid rule: " + left}
		}
		group := func(i int) (string, bool) {
			if at[2*i] < 0 {
				return "", false
			}
			return left[at[2*i]:at[2*i+1]], true
		}
		one, err := newRule(group)
		if err != nil {
			return nil, &Error{Text: fmt.Sprintf("Invalid rule: %s: %v", left[:at[1]], err)}
		}
		r.rules = append(r.rules, one)
		left = left[at[1]:]
	}
	return r, nil
}

// compile compiles a pattern that a rule has, whole as it stands there.
func compile(there, whole string) (*regexp.Regexp, error) {
	if setInBrackets(there) {
		return nil, fmt.Errorf("the pattern %q has [ or && within brackets, which are sets to Java and characters to Heddle: write it without, or \\[", there)
	}
	r, err := regexp.Compile(whole)
	if err != nil {
		return nil, fmt.Errorf("%w; Heddle takes no look-around (?=, ?!, ?<), no references back (\\1) and no possessive quantifiers", err)
	}
	return r, nil
}

// setInBrackets reports whether a pattern has a [ or && within brackets. The two languages would understand the pattern differently.
func setInBrackets(pattern string) bool {
	in := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case !in && c == '[':
			in = true
			if strings.HasPrefix(pattern[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(pattern[i+1:], "]") { // the first one is a character
				i++
			}
		case in && c == ']':
			in = false
		case in && (c == '[' || strings.HasPrefix(pattern[i:], "&&")):
			return true
		}
	}
	return false
}

// javaTrim is Java's String.trim.
func javaTrim(s string) string { return strings.TrimFunc(s, func(c rune) bool { return c <= ' ' }) }

func newRule(group func(int) (string, bool)) (r rule, err error) {
	if _, r.byDefault = group(2); r.byDefault {
		r.text = "DEFAULT"
		return r, nil
	}
	number, _ := group(4)
	if r.components, err = strconv.Atoi(number); err != nil {
		return r, fmt.Errorf("%q is not a number of parts", number)
	}
	r.format, _ = group(5)
	r.text = fmt.Sprintf("RULE:[%d:%s]", r.components, r.format)
	if match, ok := group(7); ok {
		if r.match, err = compile(match, `^(?:`+match+`)$`); err != nil {
			return r, err
		}
		r.text += "(" + match + ")"
	}
	if from, ok := group(9); ok {
		if r.from, err = compile(from, from); err != nil {
			return r, err
		}
		r.to, _ = group(10)
		_, r.all = group(11)
		r.text += "s/" + from + "/" + r.to + "/"
		if r.all {
			r.text += "g"
		}
	}
	if _, r.lower = group(12); r.lower {
		r.text += "/L"
	}
	return r, nil
}

// nameParts finds the parts of a name (Hadoop: KerberosName.nameParser).
var nameParts = regexp.MustCompile(`^([^/@]+)(/([^/@]+))?(@([^/@]+))?$`)

// Short returns the short name of a user. Names without host and realm are short. Its error is an *Error.
func (r *Rules) Short(name string) (string, error) {
	m := nameParts.FindStringSubmatch(name)
	switch {
	case m == nil && strings.Contains(name, "@"):
		return "", &Error{ErrMalformed, "Malformed Kerberos name: " + name}
	case m == nil, m[2] == "" && m[4] == "":
		return name, nil
	}
	params := []string{m[5], m[1]} // by the numbers in formats
	if m[4] == "" {
		params[0] = "null" // as Java prints it
	}
	if m[2] != "" {
		params = append(params, m[3])
	}
	for i := range r.rules {
		short, applies, err := r.apply(&r.rules[i], params, m[4] != "")
		if err != nil || applies {
			return short, err
		}
	}
	if r.mechanism == MIT {
		return name, nil
	}
	return "", &Error{ErrNoRule, "No rules applied to " + name}
}

func (r *Rules) apply(one *rule, params []string, hasRealm bool) (short string, applies bool, err error) {
	switch {
	case one.byDefault:
		if !hasRealm || r.realm == "" || params[0] != r.realm {
			return "", false, nil
		}
		short = params[1]
	case len(params)-1 != one.components:
		return "", false, nil
	default:
		if short, err = fill(one.format, params); err != nil {
			return "", false, err
		}
		if one.match != nil && !one.match.MatchString(short) {
			return "", false, nil
		}
		if one.from != nil {
			if short, err = one.replace(short); err != nil {
				return "", false, err
			}
		}
	}
	if r.mechanism == Hadoop && strings.ContainsAny(short, "/@") {
		return "", false, &Error{ErrNoRule, "Non-simple name " + short + " after auth_to_local rule " + one.text}
	}
	if one.lower {
		short = strings.ToLower(short)
	}
	return short, true, nil
}

// fill puts the parts of a name into a format such as $1@$0.
func fill(format string, params []string) (string, error) {
	var out strings.Builder
	for rest := format; rest != ""; {
		before, after, found := strings.Cut(rest, "$")
		out.WriteString(before)
		if !found {
			break
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.ParseInt(after[:digits], 10, 32)
		if err != nil {
			return "", &Error{ErrFormat, "bad format in username mapping in " + after[:digits]}
		}
		if int(n) >= len(params) {
			return "", &Error{ErrFormat, fmt.Sprintf("index %d from %s is outside of the valid range 0 to %d", n, format, len(params)-1)}
		}
		out.WriteString(params[n])
		rest = after[digits:]
	}
	return out.String(), nil
}

// replace replaces the first occurrence of a pattern, or all of them.
func (one *rule) replace(text string) (string, error) {
	times := 1
	if one.all {
		times = -1
	}
	var out strings.Builder
	end := 0
	for _, at := range one.from.FindAllStringSubmatchIndex(text, times) {
		to, err := replacement(one.to, one.from, at, text)
		if err != nil {
			return "", &Error{ErrFormat, err.Error()}
		}
		out.WriteString(text[end:at[0]])
		out.WriteString(to)
		end = at[1]
	}
	out.WriteString(text[end:])
	return out.String(), nil
}

// replacement expands a text as Java's Matcher.appendReplacement does: $N is a group, and a backslash takes the next character as it is.
func replacement(to string, pattern *regexp.Regexp, at []int, text string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(to); i++ {
		switch c := to[i]; {
		case c == '\\' && i+1 < len(to):
			i++
			out.WriteByte(to[i])
		case c == '\\':
			return "", errors.New("character to be escaped is missing")
		case c == '$':
			if i+1 == len(to) || to[i+1] < '0' || to[i+1] > '9' {
				return "", errors.New("illegal group reference")
			}
			i++
			n := int(to[i] - '0')
			for n <= pattern.NumSubexp() && i+1 < len(to) && to[i+1] >= '0' && to[i+1] <= '9' && n*10+int(to[i+1]-'0') <= pattern.NumSubexp() {
				i++
				n = n*10 + int(to[i]-'0')
			}
			if n > pattern.NumSubexp() {
				return "", fmt.Errorf("there is no group %d", n)
			}
			if at[2*n] >= 0 {
				out.WriteString(text[at[2*n]:at[2*n+1]])
			}
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}
