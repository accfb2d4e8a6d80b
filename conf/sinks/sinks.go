// Package sinks reads hadoop-metrics2.properties: to which programs a daemon sends its metrics (Hadoop: MetricsConfig).
package sinks

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/internal/bounded"
)

// Kind is a kind of sink.
type Kind int

// Kinds of sinks. Unknown ones get nothing.
const (
	Unknown Kind = iota
	File
	Graphite
	StatsD
	Ganglia30
	Ganglia31
)

// kinds are the sinks that are served, by their Java class.
var kinds = map[string]Kind{
	"org.apache.hadoop.metrics2.sink.FileSink":              File,
	"org.apache.hadoop.metrics2.sink.GraphiteSink":          Graphite,
	"org.apache.hadoop.metrics2.sink.StatsDSink":            StatsD,
	"org.apache.hadoop.metrics2.sink.ganglia.GangliaSink30": Ganglia30,
	"org.apache.hadoop.metrics2.sink.ganglia.GangliaSink31": Ganglia31,
}

// Sink is a program or file that gets metrics.
type Sink struct {
	Name    string // of the instance
	Class   string // Java class
	Kind    Kind
	Period  time.Duration     // between two records, at least a millisecond
	Context string            // only records of this context; "" for all
	Options map[string]string // of the sink's own
}

// Of returns the sinks of a daemon, "resourcemanager" or "nodemanager", from its configuration folder. As in Hadoop, a file
// hadoop-metrics2-DAEMON.properties takes the place of hadoop-metrics2.properties. problems say which settings have no effect.
func Of(dir, daemon string) (sinks []Sink, problems []string, err error) {
	if dir == "" {
		return nil, nil, nil
	}
	for _, name := range []string{"hadoop-metrics2-" + daemon + ".properties", "hadoop-metrics2.properties"} {
		const most = 1 << 20
		b, err := bounded.ReadFile(filepath.Join(dir, name), most)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		sinks, problems = chosen(Properties(string(b)), daemon)
		for i := range problems {
			problems[i] = name + ": " + problems[i]
		}
		return sinks, problems, nil
	}
	return nil, nil, nil
}

// chosen returns the sinks of a daemon, by name.
func chosen(p map[string]string, daemon string) (out []Sink, problems []string) {
	own, all := daemon+".sink.", "*.sink."
	names := map[string]bool{}
	for key := range p {
		if rest, ok := strings.CutPrefix(key, own); ok {
			if name, option, ok := strings.Cut(rest, "."); ok && option != "" && name != "" && !strings.Contains(name, "*") {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := Sink{Name: name, Options: map[string]string{}}
		for _, prefix := range []string{all + name + ".", own + name + "."} { // the daemon's own settings win
			for key, value := range p {
				if option, ok := strings.CutPrefix(key, prefix); ok {
					s.Options[option] = value
				}
			}
		}
		problems = append(problems, s.complete(p, daemon)...)
		if s.Class != "" { // else Hadoop has no sink either
			out = append(out, s)
		}
	}
	return out, problems
}

// complete fills in what is common to all sinks.
func (s *Sink) complete(p map[string]string, daemon string) (problems []string) {
	s.Class, s.Context = s.Options["class"], s.Options["context"]
	s.Kind = kinds[s.Class]
	if s.Class != "" && s.Kind == Unknown {
		problems = append(problems, fmt.Sprintf("the sink %q gets no metrics: Heddle has no %s, only %s", s.Name, s.Class,
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")))
	}
	for _, option := range slices.Sorted(maps.Keys(s.Options)) {
		if strings.Contains(option, ".filter.") {
			problems = append(problems, fmt.Sprintf("%s.sink.%s.%s has no effect: Heddle sends all metrics of the context", daemon, s.Name, option))
		}
	}
	s.Period = 10 * time.Second
	for _, c := range []struct {
		value string
		unit  time.Duration
	}{
		{p["*.period"], time.Second},
		{p["*.periodMillis"], time.Millisecond},
		{p[daemon+".period"], time.Second},
		{p[daemon+".periodMillis"], time.Millisecond},
		{s.Options["period"], time.Second},
		{s.Options["periodMillis"], time.Millisecond},
	} {
		if c.value == "" {
			continue
		}
		n, err := strconv.Atoi(c.value)
		if err != nil || n < 1 || n > 1e6 {
			problems = append(problems, fmt.Sprintf("a period of %q has no effect: it must be a number from 1 to 1000000", c.value))
			continue
		}
		s.Period = time.Duration(n) * c.unit
	}
	return problems
}

// Properties reads a file of Java properties: key=value or key: value, comments with # or !, and lines that continue after a \ at
// their end. The last value of a key counts.
func Properties(text string) map[string]string {
	out := map[string]string{}
	whole := ""
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t\f")
		if whole == "" && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		if before, more := strings.CutSuffix(line, `\`); more && !strings.HasSuffix(before, `\`) {
			whole += before
			continue
		}
		set(out, whole+line)
		whole = ""
	}
	if whole != "" {
		set(out, whole)
	}
	return out
}

func set(out map[string]string, line string) {
	end := strings.IndexAny(line, "=: \t")
	if end < 0 {
		out[line] = ""
		return
	}
	value := strings.TrimLeft(line[end:], " \t")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = value[1:]
	}
	out[line[:end]] = strings.TrimSpace(value)
}
