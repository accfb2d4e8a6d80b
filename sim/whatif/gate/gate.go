// Package gate checks the answer of a what-if by rules: a change of configuration that breaks one doesn't pass.
package gate

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"heddle/sim/whatif"
)

// Rule is a line of a file of rules.
type Rule struct {
	Line   int
	Text   string
	figure string
	of     string // queue path, "user NAME", "partition LABEL" or "cluster"
	must   string // grow, shrink, exceed
	limit  float64
	unit   string // "%", "s" or ""
}

// Verdict holds what becomes of a rule.
type Verdict struct {
	Rule   *Rule
	Passes bool
	// Unsure says that the limit is within the error bars.
	Unsure bool
	Why    string
}

// figures that rules may be about, and whether they have a unit of time.
var figures = map[string]func(*whatif.Figures) float64{
	"p50 wait":       func(f *whatif.Figures) float64 { return f.Wait.P50 },
	"p90 wait":       func(f *whatif.Figures) float64 { return f.Wait.P90 },
	"p99 wait":       func(f *whatif.Figures) float64 { return f.Wait.P99 },
	"p50 time":       func(f *whatif.Figures) float64 { return f.Time.P50 },
	"p90 time":       func(f *whatif.Figures) float64 { return f.Time.P90 },
	"p99 time":       func(f *whatif.Figures) float64 { return f.Time.P99 },
	"share":          func(f *whatif.Figures) float64 { return 100 * f.Share },
	"preemptions":    func(f *whatif.Figures) float64 { return float64(f.Preempted) },
	"lost work":      func(f *whatif.Figures) float64 { return f.Lost },
	"suspended time": func(f *whatif.Figures) float64 { return f.Standstill },
	"cost":           func(f *whatif.Figures) float64 { return f.Memory },
	"unended":        func(f *whatif.Figures) float64 { return float64(f.Unended) },
}

var (
	form = regexp.MustCompile(`^(.+?) of (.+?) must not (grow by more than|shrink by more than|exceed) ([0-9]+(?:\.[0-9]+)?) ?(%|s|)$`)
	// maxRules bounds a file.
	maxRules = 10_000
)

// ReadRules reads a file of rules: one a line, such as
//
//	p90 wait of root.prod must not grow by more than 10 %
//	preemptions of user ann must not exceed 5
//
// Empty lines, and those that begin with #, say nothing. Errors name the line.
func ReadRules(r io.Reader) (rules []Rule, err error) {
	in := bufio.NewScanner(r)
	line := 0
	for in.Scan() {
		line++
		text := strings.Join(strings.Fields(in.Text()), " ")
		if text == "" || text[0] == '#' {
			continue
		}
		x, err := parseRule(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if x.Line = line; len(rules) == maxRules {
			return nil, fmt.Errorf("line %d: there are more than %d rules", line, maxRules)
		}
		rules = append(rules, x)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("there is no rule in it, such as: p90 wait of root.prod must not grow by more than 10 %%")
	}
	return rules, nil
}

func parseRule(text string) (Rule, error) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Rule{}, fmt.Errorf("%q is no rule: write FIGURE of QUEUE must not grow by more than N %% (or shrink by more than, or exceed; N may be in s)", text)
	}
	x := Rule{Text: text, figure: m[1], of: m[2], must: strings.Fields(m[3])[0], unit: m[5]}
	if figures[x.figure] == nil {
		return Rule{}, fmt.Errorf("%q is no figure: there are p50, p90 and p99 wait and time, share, preemptions, lost work, suspended time, cost and unended", x.figure)
	}
	if strings.HasPrefix(x.of, "partition ") && (x.figure == "unended" || strings.HasSuffix(x.figure, " time") && x.figure != "suspended time") {
		return Rule{}, fmt.Errorf("%s is a figure of applications, which aren't in one partition: ask for it of a queue", x.figure)
	}
	var err error
	x.limit, err = strconv.ParseFloat(m[4], 64)
	return x, err
}

// Check judges a report. A rule about a queue or a user that the record doesn't have is an error.
func Check(rules []Rule, r *whatif.Report) (verdicts []Verdict, err error) {
	for i := range rules {
		v, err := rules[i].check(r)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", rules[i].Line, err)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

func (x *Rule) row(r *whatif.Report) (*whatif.Row, error) {
	list, name := r.Queues, x.of
	if user, ok := strings.CutPrefix(x.of, "user "); ok {
		list, name = r.Users, user
	}
	if label, ok := strings.CutPrefix(x.of, "partition "); ok {
		if list, name = r.Partitions, label; label == whatif.PartitionName("") {
			name = ""
		}
	}
	if x.of == "cluster" {
		return &r.Cluster, nil
	}
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
	}
	if strings.HasPrefix(x.of, "partition ") {
		return nil, fmt.Errorf("the record has no %s", x.of)
	}
	return nil, fmt.Errorf("the record has no application of %s", x.of)
}

func (x *Rule) check(r *whatif.Report) (Verdict, error) {
	row, err := x.row(r)
	if err != nil {
		return Verdict{}, err
	}
	get := figures[x.figure]
	before, after := get(&row.Before), get(&row.After)
	limit := x.limit
	switch {
	case x.must == "grow" && x.unit == "%":
		limit = before * (1 + x.limit/100)
	case x.must == "grow":
		limit = before + x.limit
	case x.must == "shrink" && x.unit == "%":
		limit = before * (1 - x.limit/100)
	case x.must == "shrink":
		limit = before - x.limit
	}
	low, high := x.bars(row, after)
	v := Verdict{Rule: x, Passes: after <= limit, Unsure: low <= limit && limit < high}
	if x.must == "shrink" {
		v.Passes = after >= limit
		v.Unsure = low < limit && limit <= high
	}
	v.Why = fmt.Sprintf("%.2f before, %.2f after (error bars %.2f to %.2f), limit %.2f", before, after, low, high, limit)
	return v, nil
}

// bars are the error bars of a figure.
func (x *Rule) bars(row *whatif.Row, after float64) (low, high float64) {
	switch {
	case strings.HasSuffix(x.figure, " wait"):
		return max(after+row.Bars.Less, 0), after + row.Bars.More
	case strings.HasSuffix(x.figure, " time") && x.figure != "suspended time":
		return after * row.Bars.Low, after * row.Bars.High
	}
	return after, after
}

// Write writes verdicts, and reports whether all pass.
func Write(w io.Writer, verdicts []Verdict) (passes bool, err error) {
	passes = true
	for i := range verdicts {
		v := &verdicts[i]
		word := "passes"
		if !v.Passes {
			word, passes = "fails", false
		}
		if v.Unsure {
			word += ", within the error"
		}
		if _, err := fmt.Fprintf(w, "line %d %s: %s: %s\n", v.Rule.Line, word, whatif.Clean(v.Rule.Text), v.Why); err != nil {
			return false, err
		}
	}
	return passes, nil
}
