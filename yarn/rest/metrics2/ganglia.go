package metrics2

import (
	"encoding/binary"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// ganglia describes metrics to Ganglia's daemons (Hadoop: GangliaSink30, GangliaSink31).
type ganglia struct {
	servers []string
	host    string
	version int // 30 or 31
	// by the metric's whole name
	units, slope, dmax, tmax map[string]string
	prefixes                 map[string][]string // by context: tags that are part of names
}

const gangliaPort = "8649"

func gangliaSink(o map[string]string, v31 bool) (func([]Record, time.Time) error, error) {
	g := newGanglia(o)
	g.version = 30
	if v31 {
		g.version = 31
	}
	return func(records []Record, _ time.Time) error {
		var conns []net.Conn
		defer func() {
			for _, c := range conns {
				c.Close()
			}
		}()
		for _, to := range g.servers {
			c, err := net.DialTimeout("udp", to, sinkTimeout)
			if err != nil {
				return err
			}
			conns = append(conns, c)
		}
		for i := range records {
			for _, packet := range g.packets(&records[i]) {
				for _, c := range conns {
					if _, err := c.Write(packet); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}, nil
}

func newGanglia(o map[string]string) *ganglia {
	g := &ganglia{host: o["slave.host.name"], prefixes: map[string][]string{}}
	if g.host == "" {
		g.host, _ = os.Hostname() // unknown: empty
	}
	for _, s := range strings.FieldsFunc(o["servers"], func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if _, _, err := net.SplitHostPort(s); err != nil {
			s = net.JoinHostPort(s, gangliaPort)
		}
		g.servers = append(g.servers, s)
	}
	if len(g.servers) == 0 {
		g.servers = []string{"localhost:" + gangliaPort}
	}
	g.units, g.slope, g.dmax, g.tmax = pairs(o["units"]), pairs(o["slope"]), pairs(o["dmax"]), pairs(o["tmax"])
	for key, value := range o {
		if context, ok := strings.CutPrefix(key, "tagsForPrefix."); ok {
			g.prefixes[context] = strings.Split(strings.ReplaceAll(value, " ", ""), ",")
		}
	}
	return g
}

// pairs reads metric=value,metric=value.
func pairs(text string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
			out[name] = value
		}
	}
	return out
}

// packets returns the datagrams of a record: of each metric its description, then its value; in version 3.0 one for both.
func (g *ganglia) packets(r *Record) (out [][]byte) {
	group := r.Context + "."
	if r.Context == "jvm" {
		for _, t := range r.Tags {
			if t.Name == "ProcessName" && t.Value != "" {
				group += t.Value + "."
			}
		}
	}
	group += r.Name
	for _, name := range g.prefixes[r.Context] {
		for _, t := range r.Tags {
			if (t.Name == name || name == "*" && t.Name != "Context" && t.Name != "Hostname") && !t.Null {
				group += "." + t.Name + "=" + t.Value
			}
		}
	}
	for _, m := range r.Metrics {
		name := group + "." + m.Name
		if g.version == 30 {
			out = append(out, xdr(nil, 0, m.Type, name, m.Value, g.units[name], g.slopeOf(name, m), number(g.tmax[name], 60), number(g.dmax[name], 0)))
			continue
		}
		const description, value, spoof = 128, 133, 0
		out = append(out,
			xdr(nil, description, g.host, name, spoof, m.Type, name, g.units[name], g.slopeOf(name, m),
				number(g.tmax[name], 60), number(g.dmax[name], 0),
				1, "GROUP", group),
			xdr(nil, value, g.host, name, spoof, "%s", m.Value))
	}
	return out
}

// slopeOf says how a metric changes: zero, positive, negative or both, by Ganglia's numbers.
func (g *ganglia) slopeOf(name string, m Metric) int {
	const zero, positive, negative, both = 0, 1, 2, 3
	switch g.slope[name] {
	case "zero":
		return zero
	case "positive":
		return positive
	case "negative":
		return negative
	case "both":
		return both
	}
	if m.Counter {
		return positive
	}
	return both
}

func number(text string, unset int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return unset
	}
	return n
}

// xdr appends numbers of 32 bits and texts, which are padded to four bytes.
func xdr(b []byte, values ...any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(v)) //nolint:gosec // small numbers, or -1
		case string:
			b = binary.BigEndian.AppendUint32(b, uint32(len(v))) //nolint:gosec // texts are short
			b = append(b, v...)
			for len(b)%4 != 0 {
				b = append(b, 0)
			}
		}
	}
	return b
}
