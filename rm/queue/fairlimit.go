package queue

import (
	"fmt"
	"strings"

	"heddle/conf"
	"heddle/yarn/records"
)

// Limit is an amount of resources. Some of them may be shares of the cluster.
type Limit struct {
	set    bool
	values [len(records.Resource{})]float64 // negative: no limit of that resource
	share  [len(records.Resource{})]bool    // the value is a share, 0 to 1
}

// Set reports whether there is a limit.
func (l *Limit) Set() bool { return l.set }

// ofCluster reports whether a limit is a share of the cluster.
func (l *Limit) ofCluster() bool { return l.set && l.share[0] }

// Of returns the limit in a cluster of some size; unset is the value for resources without a limit.
func (l *Limit) Of(cluster, unset records.Resource) records.Resource {
	if !l.set {
		return unset
	}
	out := unset
	for i, v := range l.values {
		switch {
		case v < 0:
		case l.share[i]:
			out[i] = int64(v * float64(cluster[i]))
		default:
			out[i] = int64(v)
		}
	}
	return out
}

// Holds reports whether another limit is within this one, as far as both are amounts and not shares.
func (l *Limit) Holds(other *Limit) bool {
	for i, most := range l.values {
		if least := other.values[i]; most >= 0 && least > most && !l.share[i] && !other.share[i] {
			return false
		}
	}
	return true
}

// limit reads "X mb, Y vcores", "memory-mb=X, vcores=Y, other=Z", "P%", "P% memory, Q% cpu" or "memory-mb=P%, vcores=Q%"
// (Hadoop: FairSchedulerConfiguration.parseResourceConfigValue). As in YARN, resources that the last two forms don't name get 0 in
// a minimum. In a maximum they are unlimited among amounts, and 0 among shares.
func (p *fairParser) limit(e *conf.Element, q *Queue) (l Limit) {
	text := strings.ToLower(strings.TrimSpace(e.Text()))
	if strings.Contains(text, "=") {
		text = strings.TrimSpace(e.Text())
	}
	l.set = true
	shares := strings.Contains(text, "%")
	for i := range l.values {
		l.values[i], l.share[i] = -1, shares
		if shares && strings.Contains(text, "=") {
			l.values[i] = 0
		}
	}
	wrong := func(reason string) Limit {
		p.fail(e, q, reason+"; it must be such as 1024 mb, 2 vcores, or memory-mb=1024, vcores=2, or 50%")
		return Limit{}
	}
	parts := splitLimit(text)
	if shares && len(parts) > 1 && !strings.Contains(text, "=") && len(parts) != 2 {
		return wrong("shares are of memory and cpu")
	}
	named := 0
	for _, part := range parts {
		amount, name := cutAmount(part)
		share := strings.HasSuffix(amount, "%")
		if share != shares {
			return wrong("shares and amounts can't be mixed")
		}
		f, err := parseFloat(strings.TrimSpace(strings.TrimSuffix(amount, "%")))
		if err != nil && !share && strings.Contains(part, "=") {
			if i, known := resourceIndex(p.types, name); known {
				var n int64
				n, err = parseQuantity(amount, i)
				f = float64(n)
			}
		}
		switch {
		case err != nil:
			return wrong(fmt.Sprintf("%q is not an amount", shorten(part)))
		case f < 0:
			return wrong(fmt.Sprintf("%q is less than 0", shorten(part)))
		case share:
			f /= 100
		}
		indices := p.limited(name, share && len(parts) == 1, strings.Contains(part, "="))
		if indices == nil {
			return wrong(fmt.Sprintf("%q is not a resource of this cluster (%s); yarn.resource-types lists them", shorten(name), p.types))
		}
		for _, i := range indices {
			l.values[i], l.share[i] = f, share
			named |= 1 << i
		}
	}
	const both = 1<<records.Memory | 1<<records.VCores
	if !strings.Contains(text, "=") && named&both != both {
		return wrong("memory and vcores are both needed")
	}
	return l
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

// limited returns the resources that a name stands for; a share without a name applies to all.
func (p *fairParser) limited(name string, alone, exact bool) []int {
	if exact {
		if i, ok := resourceIndex(p.types, name); ok {
			return []int{i}
		}
		return nil
	}
	switch {
	case strings.HasPrefix(name, "mb"), strings.HasPrefix(name, "memory"):
		return []int{records.Memory}
	case strings.HasPrefix(name, "vcore"), strings.HasPrefix(name, "cpu"):
		return []int{records.VCores}
	case name == "" && alone:
		all := make([]int, len(records.Resource{}))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return nil
}
