package quantity

import (
	"errors"
	"fmt"
	"strings"

	"heddle/conf"
	"heddle/yarn/records"
)

// Limit is an amount of resources, or a share of the cluster for each. The zero value is no limit.
type Limit struct {
	set    bool
	shares bool                             // the values are shares of the cluster, 0 to 1
	values [len(records.Resource{})]float64 // negative: no limit of that resource
}

// Set reports whether there is a limit.
func (l *Limit) Set() bool { return l.set }

// OfCluster reports whether a limit consists of shares of the cluster.
func (l *Limit) OfCluster() bool { return l.shares }

// Of returns the limit in a cluster of some size; unset is the value for resources without a limit.
func (l *Limit) Of(cluster, unset records.Resource) records.Resource {
	if !l.set {
		return unset
	}
	out := unset
	for i, v := range l.values {
		switch {
		case v < 0:
		case l.shares:
			out[i] = records.Whole(v * float64(cluster[i]))
		default:
			out[i] = records.Whole(v)
		}
	}
	return out
}

// Holds reports whether another limit is within this one, as far as both are amounts and not shares.
func (l *Limit) Holds(other *Limit) bool {
	if l.shares || other.shares {
		return true
	}
	for i, most := range l.values {
		if most >= 0 && other.values[i] > most {
			return false
		}
	}
	return true
}

// ParseLimit reads "X mb, Y vcores", "memory-mb=X, vcores=Y, other=Z", "P%", "P% memory, Q% cpu" or "memory-mb=P%, vcores=Q%"
// (Hadoop: FairSchedulerConfiguration.parseResourceConfigValue). As in YARN, resources that the last two forms don't name get 0 in
// a minimum. In a maximum they are unlimited among amounts, and 0 among shares.
func ParseLimit(text string, types records.ResourceTypes) (Limit, error) {
	p := limitParser{types: types, exact: strings.Contains(text, "="), limit: Limit{set: true, shares: strings.Contains(text, "%")}}
	if text = strings.TrimSpace(text); !p.exact {
		text = strings.ToLower(text)
	}
	if !p.exact || !p.limit.shares {
		for i := range p.limit.values {
			p.limit.values[i] = -1
		}
	}
	if err := p.read(splitLimit(text)); err != nil {
		return Limit{}, fmt.Errorf("%w; it must be such as 1024 mb, 2 vcores, or memory-mb=1024, vcores=2, or 50%%", err)
	}
	return p.limit, nil
}

// limitParser reads the parts of one limit.
type limitParser struct {
	types records.ResourceTypes
	exact bool // some part names its resource as yarn.resource-types does: memory-mb=1024
	limit Limit
}

func (p *limitParser) read(parts []string) error {
	if p.limit.shares && !p.exact && len(parts) > 2 {
		return errors.New("shares are of memory and cpu")
	}
	named := 0
	for _, part := range parts {
		amount, name := cutAmount(part)
		if strings.HasSuffix(amount, "%") != p.limit.shares {
			return errors.New("shares and amounts can't be mixed")
		}
		exact := strings.Contains(part, "=")
		value, err := p.value(amount, name, exact)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not an amount", conf.Shorten(part))
		case value < 0:
			return fmt.Errorf("%q is less than 0", conf.Shorten(part))
		}
		indices := p.named(name, exact, len(parts) == 1)
		if indices == nil {
			return fmt.Errorf("%q is not a resource of this cluster (%s); yarn.resource-types lists them", conf.Shorten(name), p.types)
		}
		for _, i := range indices {
			p.limit.values[i] = value
			named |= 1 << i
		}
	}
	const both = 1<<records.Memory | 1<<records.VCores
	if !p.exact && named&both != both {
		return errors.New("memory and vcores are both needed")
	}
	return nil
}

// value reads a number, a share in percent, or an amount with its unit.
func (p *limitParser) value(amount, name string, exact bool) (float64, error) {
	if p.limit.shares {
		f, err := ParseNumber(strings.TrimSpace(strings.TrimSuffix(amount, "%")))
		return f / 100, err
	}
	f, err := ParseNumber(amount)
	if err != nil && exact {
		if i, known := Index(p.types, name); known {
			n, err := ParseAmount(amount, i)
			return float64(n), err
		}
	}
	return f, err
}

// splitLimit splits a list at its commas. Without commas, amounts may follow each other after blanks.
func splitLimit(text string) (parts []string) {
	if !strings.ContainsAny(text, ",=%") {
		fields := strings.Fields(text)
		if len(fields) == 4 {
			return []string{fields[0] + " " + fields[1], fields[2] + " " + fields[3]}
		}
		if len(fields) == 2 && strings.HasSuffix(fields[0], "mb") {
			return fields
		}
	}
	for part := range strings.SplitSeq(text, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// cutAmount splits "1024 mb", "mb=1024" or "50% cpu" into amount and name.
func cutAmount(part string) (amount, name string) {
	if name, amount, ok := strings.Cut(part, "="); ok {
		return strings.TrimSpace(amount), strings.TrimSpace(name)
	}
	i := strings.IndexFunc(part, func(r rune) bool { return r == '%' || r != '.' && r != '-' && r != ' ' && (r < '0' || r > '9') })
	switch {
	case i < 0:
		return part, ""
	case part[i] == '%':
		i++
	}
	return strings.TrimSpace(part[:i]), strings.TrimSpace(part[i:])
}

// named returns the resources that a name stands for. A share that stands alone, without a name, applies to all.
func (p *limitParser) named(name string, exact, alone bool) []int {
	if exact {
		if i, ok := Index(p.types, name); ok {
			return []int{i}
		}
		return nil
	}
	switch {
	case strings.HasPrefix(name, "mb"), strings.HasPrefix(name, "memory"):
		return []int{records.Memory}
	case strings.HasPrefix(name, "vcore"), strings.HasPrefix(name, "cpu"):
		return []int{records.VCores}
	case name == "" && alone && p.limit.shares:
		all := make([]int, len(records.Resource{}))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return nil
}
