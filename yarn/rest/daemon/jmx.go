package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Bean is a set of attributes that /jmx shows under a name such as Hadoop:service=NodeManager,name=NodeManagerMetrics.
type Bean struct {
	Name  string
	Type  string // modelerType
	Attrs []Attr
}

// Attr is an attribute of a bean. Its value is a string, a boolean, a number, or a slice or map of those.
type Attr struct {
	Name  string
	Value any
}

// beanType is the content type of /jmx.
const beanType = "application/json; charset=utf8"

// JMX serves /jmx: all beans, those whose names match the pattern ?qry=, or the attribute ?get=name::attribute. As in
// Hadoop, mistakes get a 200: with a message for a malformed ?get=, and with {} for a malformed pattern.
func JMX(beans func() []Bean) http.Handler {
	return Get(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Methods", "GET")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		q := r.URL.Query()
		pattern, one, only := q.Get("qry"), "", q.Has("get")
		if only {
			parts := strings.Split(q.Get("get"), "::")
			if len(parts) != 2 {
				answer(w, http.StatusOK, beanType, layOut([]byte(`{"result":"ERROR","message":"query format is not as expected."}`)))
				return
			}
			pattern, one = parts[0], parts[1]
		}
		if pattern == "" {
			pattern = "*:*"
		}
		if !isPattern(pattern) {
			answer(w, http.StatusOK, beanType, layOut([]byte(`{}`)))
			return
		}
		var found []Bean
		for _, b := range beans() {
			if !matches(pattern, b.Name) {
				continue
			}
			if only {
				b = b.only(one)
			}
			found = append(found, b)
		}
		answer(w, http.StatusOK, beanType, encode(found))
	})
}

// only returns the bean with one of its attributes, or with a message that it lacks the attribute.
func (b Bean) only(name string) Bean {
	i := slices.IndexFunc(b.Attrs, func(a Attr) bool { return a.Name == name })
	if i < 0 {
		return Bean{b.Name, b.Type, []Attr{{"result", "ERROR"}, {"message", "No attribute with name " + name + " was found."}}}
	}
	return Bean{b.Name, b.Type, b.Attrs[i : i+1]}
}

// isPattern reports whether a text has the form of a bean's name, domain:key=value,… with at most one * as a key.
func isPattern(s string) bool {
	_, keys, ok := strings.Cut(s, ":")
	seen := make(map[string]bool)
	for kv := range strings.SplitSeq(keys, ",") {
		key, _, valued := strings.Cut(kv, "=")
		if seen[key] || key == "" || valued == strings.ContainsAny(key, "*?") || !valued && key != "*" {
			return false
		}
		seen[key] = true
	}
	return ok
}

func encode(beans []Bean) []byte {
	var b bytes.Buffer
	b.WriteString(`{"beans":[`)
	for i, bean := range beans {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('{')
		attr(&b, "name", bean.Name)
		b.WriteByte(',')
		attr(&b, "modelerType", bean.Type)
		for _, a := range bean.Attrs {
			b.WriteByte(',')
			attr(&b, a.Name, a.Value)
		}
		b.WriteByte('}')
	}
	b.WriteString("]}")
	return layOut(b.Bytes())
}

// layOut formats compact JSON like Jackson's DefaultPrettyPrinter, for scripts that look for "name" : value.
func layOut(compact []byte) []byte {
	var out bytes.Buffer
	var open []byte // open brackets
	objects := 0
	line := func() { out.WriteString("\n" + strings.Repeat("  ", objects)) }
	inText, escaped := false, false
	for i, c := range compact {
		if inText {
			out.WriteByte(c)
			inText = escaped || c != '"'
			escaped = c == '\\' && !escaped
			continue
		}
		switch c {
		case '{', '[':
			open = append(open, c)
			out.WriteByte(c)
			if c == '{' && compact[i+1] != '}' {
				objects++
				line()
			} else {
				out.WriteByte(' ')
			}
		case '}', ']':
			open = open[:len(open)-1]
			switch {
			case compact[i-1] == '{' || compact[i-1] == '[': // a space is there already
			case c == '}':
				objects--
				line()
			default:
				out.WriteByte(' ')
			}
			out.WriteByte(c)
		case ',':
			out.WriteByte(c)
			if open[len(open)-1] == '{' {
				line()
			} else {
				out.WriteByte(' ')
			}
		case ':':
			out.WriteString(" : ")
		default:
			inText = c == '"'
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}

func attr(b *bytes.Buffer, name string, value any) {
	if f, ok := value.(float64); ok {
		switch {
		case math.IsNaN(f) || math.IsInf(f, 0):
			value = fmt.Sprint(f) // Hadoop writes infinities and NaN as strings, too
		case f == math.Trunc(f) && math.Abs(f) < 1e15:
			value = json.RawMessage(strconv.FormatFloat(f, 'f', 1, 64)) // a fraction shows that the attribute is a float
		}
	}
	for i, v := range []any{name, value} {
		if i > 0 {
			b.WriteByte(':')
		}
		text, err := json.Marshal(v)
		if err != nil {
			text, _ = json.Marshal(err.Error()) // strings can always be encoded
		}
		b.Write(text)
	}
}

// matches matches a bean's name with a JMX pattern: domain:key=value,… where * and ? stand for any characters, and ,*
// for any further keys.
func matches(pattern, name string) bool {
	domain, keys, _ := strings.Cut(pattern, ":")
	nameDomain, nameKeys, _ := strings.Cut(name, ":")
	if !like(domain, nameDomain) {
		return false
	}
	have := properties(nameKeys)
	more, named := false, 0
	for key, value := range properties(keys) {
		if key == "*" {
			more = true
			continue
		}
		got, ok := have[key]
		if !ok || !like(value, got) {
			return false
		}
		named++
	}
	return more || named == len(have)
}

func properties(s string) map[string]string {
	out := make(map[string]string)
	for kv := range strings.SplitSeq(s, ",") {
		k, v, _ := strings.Cut(kv, "=")
		out[k] = v
	}
	return out
}

// like matches a string with a pattern of * and ?.
func like(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case star >= 0: // extend the match of the last *
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Process returns the bean JvmMetrics of a daemon such as ResourceManager. Figures of Go's runtime take the place of a
// JVM's: sizes are in MiB, threads are goroutines.
func Process(service, host string) Bean {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mib := func(n uint64) float64 { return float64(n) / (1 << 20) }
	return Bean{"Hadoop:service=" + service + ",name=JvmMetrics", "JvmMetrics", []Attr{
		{"tag.Context", "jvm"},
		{"tag.ProcessName", service},
		{"tag.SessionId", nil},
		{"tag.Hostname", host},
		{"MemNonHeapUsedM", mib(m.StackInuse + m.MSpanInuse + m.MCacheInuse)},
		{"MemNonHeapCommittedM", mib(m.Sys - m.HeapSys)},
		{"MemNonHeapMaxM", -1.0},
		{"MemHeapUsedM", mib(m.HeapAlloc)},
		{"MemHeapCommittedM", mib(m.HeapSys - m.HeapReleased)},
		{"MemHeapMaxM", mib(heapMax(&m))},
		{"MemMaxM", mib(heapMax(&m))},
		{"GcCount", m.NumGC},
		{"GcTimeMillis", m.PauseTotalNs / 1e6},
		{"GcNumWarnThresholdExceeded", 0},
		{"GcNumInfoThresholdExceeded", 0},
		{"GcTotalExtraSleepTime", 0},
		{"ThreadsNew", 0},
		{"ThreadsRunnable", runtime.NumGoroutine()},
		{"ThreadsBlocked", 0},
		{"ThreadsWaiting", 0},
		{"ThreadsTimedWaiting", 0},
		{"ThreadsTerminated", 0},
	}}
}
