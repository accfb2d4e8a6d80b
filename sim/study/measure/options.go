package measure

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// Seeds are a row of numbers, of which each is the seed of one simulation: of the workload, of its durations and of the scheduler's dice.
type Seeds struct{ From, To uint64 }

// mostSeeds is how many simulations of the same a study makes at most.
const mostSeeds = 10_000

// ParseSeeds reads "20", which is 1 to 20, or "101-120".
func ParseSeeds(text string) (s Seeds, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		from, to = "1", text
	}
	if s.From, err = strconv.ParseUint(from, 10, 64); err == nil {
		s.To, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil || s.From > s.To || s.To == 0 || s.To-s.From >= mostSeeds {
		return Seeds{}, fmt.Errorf("seeds %q: give how many, such as 20, or the first and the last one, such as 101-120; %d at most", text, mostSeeds)
	}
	return s, nil
}

// ParseValues reads parameters, each as name=value.
func ParseValues(set []string) (map[string]string, error) {
	values := map[string]string{}
	for _, x := range set {
		name, value, is := strings.Cut(x, "=")
		if !is || name == "" {
			return nil, fmt.Errorf("--set %s: give name=value", x)
		}
		values[name] = value
	}
	return values, nil
}

// String returns the first and the last seed.
func (s Seeds) String() string { return fmt.Sprintf("%d-%d", s.From, s.To) }

// N returns how many these are.
func (s Seeds) N() int { return int(s.To - s.From + 1) }

// All returns the seeds in their order.
func (s Seeds) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range uint64(s.N()) {
			if !yield(s.From + i) {
				return
			}
		}
	}
}

// Parameter is what a study can be told, with what holds otherwise.
type Parameter struct{ Name, Default, What string }

// Options say how a study is run.
type Options struct {
	Seeds  Seeds
	Values map[string]string // of parameters; the others have their defaults

	name  string
	known []Parameter
	err   error // of the first value that couldn't be read
}

// Check takes over what parameters there are, and says what is wrong with the given ones.
func (o *Options) Check(name string, known []Parameter) error {
	o.name, o.known = name, known
	if o.Seeds == (Seeds{}) {
		o.Seeds = Seeds{1, 1}
	}
	for given := range o.Values {
		if _, ok := o.Find(given); !ok {
			names := make([]string, len(known))
			for i := range known {
				names[i] = known[i].Name
			}
			if len(names) == 0 {
				return fmt.Errorf("the study %s has no parameter %q: it has none", name, given)
			}
			return fmt.Errorf("the study %s has no parameter %q: there are %s", name, given, strings.Join(names, ", "))
		}
	}
	return nil
}

// Find finds a parameter.
func (o *Options) Find(name string) (p Parameter, ok bool) {
	for _, p := range o.known {
		if p.Name == name {
			return p, true
		}
	}
	return p, false
}

// Text returns the value of a parameter.
func (o *Options) Text(name string) string {
	if v, ok := o.Values[name]; ok {
		return v
	}
	p, _ := o.Find(name)
	return p.Default
}

// Fail notes that a value can't be read.
func (o *Options) Fail(name, want string) {
	if o.err == nil {
		o.err = fmt.Errorf("the parameter %s of the study %s is %q: give %s", name, o.name, o.Text(name), want)
	}
}

// Number reads a number from 0 on.
func (o *Options) Number(name string) float64 {
	v, err := strconv.ParseFloat(o.Text(name), 64)
	if err != nil || !(v >= 0 && v <= 1e9) {
		o.Fail(name, "a number from 0 to 1e9")
		return 0
	}
	return v
}

// Time reads a duration with its unit.
func (o *Options) Time(name string) time.Duration {
	v, err := time.ParseDuration(o.Text(name))
	if err != nil || v < 0 {
		o.Fail(name, "a time with its unit, such as 100s")
	}
	return v
}

// List reads words with commas between them; none if the value is empty.
func (o *Options) List(name string) []string {
	if o.Text(name) == "" {
		return nil
	}
	return strings.Split(o.Text(name), ",")
}

// Numbers reads numbers with commas between them.
func (o *Options) Numbers(name string) (all []float64) {
	for _, x := range o.List(name) {
		v, err := strconv.ParseFloat(x, 64)
		if err != nil || !(v >= 0 && v <= 1e9) {
			o.Fail(name, "numbers from 0 to 1e9 with commas between them")
			return nil
		}
		all = append(all, v)
	}
	return all
}

// On reports whether a list names something; an empty list names all.
func (o *Options) On(name, what string) bool {
	all := o.List(name)
	for _, x := range all {
		if x == what {
			return true
		}
	}
	return len(all) == 0
}

// Failed returns what was wrong with the first value that couldn't be read.
func (o *Options) Failed() error { return o.err }

// With returns the options with another value of a parameter.
func (o *Options) With(name, value string) *Options {
	x := *o
	x.Values = map[string]string{name: value}
	for k, v := range o.Values {
		if k != name {
			x.Values[k] = v
		}
	}
	return &x
}
