package metrics2

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"heddle/yarn/rest"
	"heddle/yarn/rest/daemon"
)

// Prometheus serves /prom: all metrics in Prometheus's form (Hadoop: PrometheusServlet, PrometheusMetricsSink).
func Prometheus(beans func() []daemon.Bean) http.Handler {
	return daemon.Get(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", rest.TextType)
		_, _ = w.Write(prometheusText(Records(beans()))) // the client has gone
	})
}

func prometheusText(records []Record) []byte {
	type series struct {
		kind string
		name string // of the first metric
		text bytes.Buffer
	}
	all, order := map[string]*series{}, []string(nil)
	for i := range records {
		r := &records[i]
		labels := prometheusLabels(r.Tags)
		for _, m := range r.Metrics {
			name := prometheusName(r.Name, m.Name)
			s := all[name]
			if s == nil {
				s = &series{kind: "gauge", name: m.Name}
				if m.Counter {
					s.kind = "counter"
				}
				all[name] = s
				order = append(order, name)
			}
			fmt.Fprintf(&s.text, "%s{%s} %s\n", name, labels, m.Value)
		}
	}
	var out bytes.Buffer
	for _, name := range order {
		s := all[name]
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", name, s.name, name, s.kind)
		out.Write(s.text.Bytes())
	}
	return out.Bytes()
}

// prometheusLabels are tags as labels. As in Hadoop, the tag with connections by user isn't one.
func prometheusLabels(tags []Tag) string {
	var out []string
	for _, t := range tags {
		if name := strings.ToLower(t.Name); name != "numopenconnectionsperuser" {
			value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(t.Value)
			out = append(out, notLetters(name)+`="`+value+`"`)
		}
	}
	return strings.Join(out, ",")
}

// prometheusName joins the names of a record and of a metric: RpcSentBytes is rpc_sent_bytes. A word begins with a capital
// that follows a small letter or a digit, and with the last of several capitals if a small letter follows it.
func prometheusName(record, metric string) string {
	text := []rune(capital(record) + capital(metric))
	var out strings.Builder
	for i, r := range text {
		if i > 0 && unicode.IsUpper(r) {
			before, small := text[i-1], i+1 < len(text) && text[i+1] >= 'a' && text[i+1] <= 'z'
			if !unicode.IsUpper(before) && before != '_' || small {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return notLetters(out.String())
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// notLetters replaces each run of anything but letters and digits with one underscore.
func notLetters(s string) string {
	var out strings.Builder
	gap := false
	for _, r := range s {
		if r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a' {
			gap = true
			continue
		}
		if gap {
			out.WriteByte('_')
		}
		gap = false
		out.WriteRune(r)
	}
	if gap {
		out.WriteByte('_')
	}
	return out.String()
}
